// Privacy Pass by @cloudflare/privacypass-ts: a line of JSON in, a line of JSON out, bytes in hex.
import { webcrypto } from "node:crypto";
import { createInterface } from "node:readline";
import {
  TOKEN_TYPES,
  Token,
  TokenChallenge,
  publicVerif,
  sendTokenRequest,
} from "@cloudflare/privacypass-ts";

globalThis.crypto ??= webcrypto; // before Node 20 it was behind a flag
const { BlindRSAMode, Client, Issuer, Origin, TokenRequest, convertRSASSAPSSToEnc } = publicVerif;
const TYPE = TOKEN_TYPES.BLIND_RSA;
const MODE = BlindRSAMode.PSS;
const bytes = (hex) => new Uint8Array(Buffer.from(hex, "hex"));
const hex = (data) => Buffer.from(data).toString("hex");
const imported = (format, key, use) =>
  crypto.subtle.importKey(format, key, TYPE.rsaParams, true, [use]);
const publicKey = (info) => imported("spki", convertRSASSAPSSToEnc(bytes(info)), "verify");

let client;
const operations = {
  // Its issuer answers our request.
  async issue({ private_key, public_key, request }) {
    const key = await imported("pkcs8", bytes(private_key), "sign");
    const issuer = new Issuer(MODE, "issuer.example.org", key, await publicKey(public_key));
    const id = hex(await issuer.tokenKeyID());
    const answer = await issuer.issue(TokenRequest.deserialize(TYPE, bytes(request)));
    return { id, answer: hex(answer.serialize()) };
  },
  // Its origin verifies our token, and reads it and its challenge as we meant them.
  async verify({ public_key, token, challenge }) {
    const read = TokenChallenge.deserialize(bytes(challenge));
    const given = Token.deserialize(TYPE, bytes(token));
    const origin = new Origin(MODE, read.originInfo);
    return {
      verified: await origin.verify(given, await publicKey(public_key)),
      nonce: hex(given.authInput.nonce),
      challenge: hex(read.serialize()),
      issuer: read.issuerName,
      origin: read.originInfo,
    };
  },
  // Its client asks, with a nonce of its own, and makes a token of our answer.
  async ask({ public_key, challenge }) {
    client = new Client(MODE);
    const read = TokenChallenge.deserialize(bytes(challenge));
    const request = await client.createTokenRequest(read, bytes(public_key));
    return { request: hex(request.serialize()) };
  },
  // Its HTTP sends the request to our issuer's route.
  async send({ url, account, request }) {
    const headers = new Headers({ Authorization: account });
    return { answer: hex(await sendTokenRequest(bytes(request), url, headers)) };
  },
  async finish({ answer }) {
    const token = await client.finalize(client.deserializeTokenResponse(bytes(answer)));
    return { token: hex(token.serialize()) };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { operation, ...given } = JSON.parse(line);
  const answer = await operations[operation](given).catch((error) => ({ error: String(error) }));
  console.log(JSON.stringify(answer));
}
