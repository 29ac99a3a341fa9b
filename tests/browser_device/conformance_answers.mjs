// What the conformance kit's commands mean to the device of client/javascript, in Node and in a page alike.
import { Device } from "../../client/javascript/src/device.js";

const OFFERS = { kinds: ["randomised-response", "subset", "affine", "levels", "mean"], repeat: ["fresh"], enrolment: ["open"], fetches: true,
  covers: true, lifetime: true };

/** Return the function that answers a command; storageOf makes the storage of a state's directory. */
export function answering(storageOf, offers, more = {}) {
  let device = null, time = { now: 0, elapsed: 0 };
  const clock = { now: () => time.now, running: () => time.elapsed };
  const commands = {
    hello: () => ({ device: "deniable.js", offers: { ...OFFERS, ...offers } }),
    open({ collector, authority, surveys, manifests, state, lifetime_epsilon }) {
      // A state that the kit says is new is one: in a page nobody can know.
      device = new Device({ collector, authority, surveys, manifests, storage: storageOf(state), lifetimeEpsilon: lifetime_epsilon ?? "20",
        firstEpoch: "now", clock, ...more });
      return {};
    },
    async consent({ value }) {
      await device.consent(value);
      return {};
    },
    async report({ survey, answer }) {
      try {
        const { status, epoch, why } = await device.report(survey, answer);
        return { outcome: status, epoch, why };
      } catch (error) {
        if (error instanceof RangeError) return { outcome: "raised", epoch: null, why: error.message };
        throw error;
      }
    },
    async run() {
      const wake = await device.step();
      return { wake: Number.isFinite(wake) ? wake : null };
    },
    close() {
      device?.stop();
      device = null;
      return {};
    },
  };
  return async (command) => {
    time = command;
    try {
      return await commands[command.do](command);
    } catch (error) {
      return { error: String(error.stack ?? error) };
    }
  };
}
