/** Where the state is kept (D5). */

/** @import { State } from "./device.js" */

/**
 * The state is an object that structured cloning copies. `read` returns it, or null; it never makes one. `update` hands it to
 * `change`, in one transaction, keeps what `change` returns (nothing, if that is undefined), and is durable once it resolves.
 * Of several tabs that update at once each sees what the one before has kept: whoever loses reads the winner's row.
 * @typedef {object} Storage
 * @property {() => Promise<State | null>} read
 * @property {(change: (state: State | null) => State | undefined, create?: boolean) => Promise<unknown>} update
 */

/** @returns {Storage} */
export function indexedDbStorage(name = "deniable") {
  /** @param {boolean} create @returns {Promise<IDBDatabase | null>} */
  const open = (create) => new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => (create ? request.result.createObjectStore("device") : request.transaction?.abort());
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => (!create && request.error?.name === "AbortError" ? resolve(null) : reject(request.error));
  });
  /** @template T @param {IDBTransactionMode} mode @param {(state: State | null) => T} change @returns {Promise<T>} */
  const run = async (mode, change, create = false) => {
    const database = await open(create);
    if (!database) return change(null);
    try {
      return await new Promise((resolve, reject) => {
        const transaction = database.transaction("device", mode, { durability: "strict" }), store = transaction.objectStore("device");
        /** @type {T} */
        let outcome;
        const got = store.get("state");
        got.onsuccess = () => {
          try {
            outcome = change(got.result ?? null);
            if (mode === "readwrite" && outcome !== undefined) store.put(outcome, "state");
          } catch (error) { reject(error); transaction.abort(); }
        };
        transaction.oncomplete = () => resolve(outcome);
        transaction.onabort = () => reject(transaction.error ?? new Error("the browser keeps nothing"));
      });
    } finally { database.close(); } // so that clearing the site's data never waits for a tab
  };
  return { read: () => run("readonly", (state) => state), update: (change, create) => run("readwrite", change, create) };
}
