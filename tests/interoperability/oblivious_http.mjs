// A client of Oblivious HTTP (RFC 9458), of @hpke/core and bhttp-js: a line of JSON in, one out, bytes in hex.
import { createDecipheriv, createHmac, webcrypto } from "node:crypto";
import { createInterface } from "node:readline";
import { Aes128Gcm, CipherSuite, HkdfSha256 } from "@hpke/core";
import { DhkemX25519HkdfSha256 } from "@hpke/dhkem-x25519";
import { BHttpDecoder, BHttpEncoder } from "bhttp-js";

globalThis.crypto ??= webcrypto; // before Node 20 it was behind a flag
const ALGORITHMS = [0, 0x20, 0, 1, 0, 1];
const suite = new CipherSuite({
  kem: new DhkemX25519HkdfSha256(),
  kdf: new HkdfSha256(),
  aead: new Aes128Gcm(),
});
const bytes = (hex) => Buffer.from(hex, "hex");
const hmac = (key, ...data) => createHmac("sha256", key).update(Buffer.concat(data)).digest();

let sender;
const operations = {
  // Seals for the first configuration of application/ohttp-keys, padded with zeros.
  async seal({ keys, url, method, type, body, size }) {
    const configuration = bytes(keys).subarray(2);
    const header = Buffer.from([configuration[0], ...ALGORITHMS]);
    const recipientPublicKey = await suite.kem.deserializePublicKey(
      new Uint8Array(configuration.subarray(3, 35)).buffer,
    );
    const info = Buffer.concat([Buffer.from("message/bhttp request\0"), header]);
    sender = await suite.createSenderContext({ recipientPublicKey, info });
    const given = body ? { body: bytes(body), headers: { "content-type": type } } : {};
    const message = Buffer.alloc(Number(size) - header.length - sender.enc.byteLength - 16);
    message.set(await new BHttpEncoder().encodeRequest(new Request(url, { method, ...given })));
    const sealed = await sender.seal(message);
    return { sealed: Buffer.concat([header, Buffer.from(sender.enc), Buffer.from(sealed)]).toString("hex") };
  },
  async open({ answer }) {
    const sealed = bytes(answer);
    const nonce = sealed.subarray(0, 16);
    const secret = Buffer.from(await sender.export(Buffer.from("message/bhttp response"), 16));
    const prk = hmac(Buffer.concat([Buffer.from(sender.enc), nonce]), secret);
    const expand = (label, length) => hmac(prk, Buffer.from(label), Buffer.from([1])).subarray(0, length);
    const opened = createDecipheriv("aes-128-gcm", expand("key", 16), expand("nonce", 12));
    opened.setAuthTag(sealed.subarray(-16));
    const message = Buffer.concat([opened.update(sealed.subarray(16, -16)), opened.final()]);
    const response = new BHttpDecoder().decodeResponse(new Uint8Array(message));
    return {
      status: response.status,
      type: response.headers.get("content-type"),
      date: response.headers.get("date"),
      body: Buffer.from(await response.arrayBuffer()).toString("hex"),
    };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { operation, ...given } = JSON.parse(line);
  const answer = await operations[operation](given).catch((error) => ({ error: String(error) }));
  console.log(JSON.stringify(answer));
}
