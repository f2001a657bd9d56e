import { expect, test } from "bun:test";
import fc from "fast-check";
import { type PcpRequest, pcpAnswerIn, pcpRequestBytes } from "../../src/port-mapping/pcp.ts";
import { ip } from "../fake/address.ts";

const REQUEST: PcpRequest = {
  own: ip("192.168.8.2"),
  nonce: Uint8Array.from({ length: 12 }, (_, at) => at + 1),
  internal: 51_820,
  external: 51_820,
  lifetime: 600,
};
const NONCE = "0102030405060708090a0b0c";
const bytes = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));
/** As sections 7.2 and 11.1 have it: 60 s, epoch 258, port 40000 of 203.0.113.7. */
const answer = (result = "00", nonce = NONCE, port = "ca6c") =>
  bytes(
    `02 81 00 ${result} 0000003c 00000102 ${"00".repeat(12)} ${nonce} 11 000000 ${port} 9c40 ${"00".repeat(10)} ffff cb007107`,
  );

test("a request is as sections 7.1 and 11.1 of RFC 6887 have it", () => {
  expect(Buffer.from(pcpRequestBytes(REQUEST)).toString("hex")).toBe(
    `0201000000000258${"00".repeat(10)}ffffc0a80802${NONCE}11000000ca6cca6c${"00".repeat(10)}ffff00000000`,
  );
  const six = pcpRequestBytes({ ...REQUEST, own: ip("2001:db8::2") });
  expect(Buffer.from(six.subarray(8, 24)).toString("hex")).toBe("20010db8000000000000000000000002");
  expect(Buffer.from(six.subarray(44)).toString("hex")).toBe("00".repeat(16));
});

test("an answer is read", () => {
  expect(pcpAnswerIn(answer(), REQUEST)).toEqual({
    ...{ result: 0, lifetime: 60, epoch: 258, external: 40_000 },
    address: ip("203.0.113.7"),
  });
  expect(pcpAnswerIn(answer("02"), REQUEST)).toMatchObject({ result: 2 });
});

test("an answer to another request is none", () => {
  for (const other of [answer("00", "00".repeat(12)), answer("00", NONCE, "0001"), answer().subarray(0, 59)])
    expect(pcpAnswerIn(other, REQUEST)).toBeNull();
});

test("a router that knows another version, or not this operation, does not speak it", () => {
  for (const each of ["0000 0001 00000009", `00 81 0001 ${"00".repeat(20)}`])
    expect(pcpAnswerIn(bytes(each), REQUEST)).toBe("closed");
  for (const result of ["01", "04"]) expect(pcpAnswerIn(answer(result), REQUEST)).toBe("closed");
});

test("no packet makes the reader throw", () => {
  const packet = fc.oneof(
    fc.uint8Array({ maxLength: 1_200 }),
    fc.tuple(fc.uint8Array({ maxLength: 80 }), fc.nat(59)).map(([noise, at]) => {
      const made = answer();
      made.set(noise.subarray(0, 60 - at), at);
      return made;
    }),
  );
  fc.assert(fc.property(packet, (each) => void pcpAnswerIn(each, REQUEST)));
});
