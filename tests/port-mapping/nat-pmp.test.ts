import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type AddressAnswer,
  anotherOperationBytes,
  anotherVersionBytes,
  answerBytes,
  answerIn,
  type MappingAnswer,
  type Request,
  requestBytes,
  requestIn,
} from "../../src/port-mapping/nat-pmp.ts";
import { ip } from "../fake/address.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const bytes = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));

const port = fc.integer({ min: 0, max: 65535 });
const seconds = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const protocol = fc.constantFrom("udp" as const, "tcp" as const);
const mapping = { protocol, internal: port, external: port, lifetime: seconds };

describe("the messages of RFC 6886 are written", () => {
  test("as section 3.2 has the request for the address", () => {
    expect(hex(requestBytes({ asks: "address" }))).toBe("0000");
  });

  test("as section 3.3 has the request for a mapping", () => {
    const request = { asks: "mapping", protocol: "tcp", internal: 6881, external: 0, lifetime: 60 } as const;
    expect(hex(requestBytes(request))).toBe("0002" + "0000" + "1ae1" + "0000" + "0000003c");
  });

  test("as section 3.2 has the address", () => {
    const answer = { answers: "address", result: 0, epoch: 258, address: ip("203.0.113.7") } as const;
    expect(hex(answerBytes(answer))).toBe("0080" + "0000" + "00000102" + "cb007107");
  });

  test("with the address zero after a failure", () => {
    const answer = { answers: "address", result: 3, epoch: 258, address: null } as const;
    expect(hex(answerBytes(answer))).toBe("0080" + "0003" + "00000102" + "00000000");
  });

  test("as section 3.3 has the mapping", () => {
    const answer = { answers: "mapping", protocol: "udp", result: 0, epoch: 1, lifetime: 60 } as const;
    expect(hex(answerBytes({ ...answer, internal: 6881, external: 50_326 }))).toBe(
      "0081" + "0000" + "00000001" + "1ae1" + "c496" + "0000003c",
    );
  });

  test("as section 3.5 has the refusal of another version", () => {
    expect(hex(anotherVersionBytes(9))).toBe("0000" + "0001" + "00000009");
  });

  test("as section 3.5 has the refusal of another operation, with the rest of the request", () => {
    expect(hex(anotherOperationBytes(bytes("0003 ffff ffffffff abcd"), 9))).toBe(
      "0083" + "0005" + "00000009" + "abcd",
    );
    expect(hex(anotherOperationBytes(bytes("0003"), 9))).toBe("0083" + "0005" + "00000009");
  });
});

test("a request that is written and read again is the same", () => {
  const request = fc.oneof(
    fc.record({ asks: fc.constant("mapping" as const), ...mapping }),
    fc.constant({ asks: "address" as const }),
  );
  fc.assert(fc.property(request, (made: Request) => expect(requestIn(requestBytes(made))).toEqual(made)));
});

test("an answer that is written and read again is the same", () => {
  const result = fc.constantFrom(0, 2, 3, 4);
  const answer = fc.oneof(
    fc.record({ answers: fc.constant("mapping" as const), result, epoch: seconds, ...mapping }),
    fc.record({
      answers: fc.constant("address" as const),
      result: fc.constant(0),
      epoch: seconds,
      address: fc.ipV4().map(ip),
    }),
  );
  fc.assert(
    fc.property(answer, (made: AddressAnswer | MappingAnswer) =>
      expect(answerIn(answerBytes(made))).toEqual(made),
    ),
  );
});

test("no packet makes the reader throw, and none is both a request and an answer", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 1_200 }), (packet) => {
      const request = requestIn(packet);
      const answer = answerIn(packet);
      // The refusal of another version looks like a request for the address.
      if (request !== null && answer !== null) expect(answer.answers).toBe("nothing");
    }),
    { numRuns: 2_000 },
  );
});

describe("a server", () => {
  test("hears a request in the midst of a larger buffer", () => {
    const buffer = bytes("ffff 0001 0000 1ae1 1ae2 00001c20 ffff");
    expect(requestIn(buffer.subarray(2, 14))).toEqual({
      asks: "mapping",
      protocol: "udp",
      internal: 6881,
      external: 6882,
      lifetime: 7200,
    });
  });

  test("ignores the reserved bytes, and what follows", () => {
    const plain = requestIn(bytes("0002 0000 1ae1 0000 0000003c"));
    expect(requestIn(bytes("0002 ffff 1ae1 0000 0000003c abcd"))).toEqual(plain);
  });

  test.each([
    ["nothing", ""],
    ["one byte", "00"],
    ["half a mapping", "0001 0000 1ae1"],
    ["an answer", "0080 0000 00000001 00000000"],
    ["an answer of PCP", `02 81 ${"00".repeat(58)}`],
    ["more than any message", `0001 ${"00".repeat(1_200)}`],
  ])("gives no answer to %s", (_, packet) => {
    expect(requestIn(bytes(packet))).toBeNull();
  });

  test("tells another version from another operation", () => {
    expect(requestIn(bytes(`02 01 ${"00".repeat(58)}`))).toEqual({ asks: "another version" });
    expect(requestIn(bytes("01 00"))).toEqual({ asks: "another version" });
    expect(requestIn(bytes("00 03"))).toEqual({ asks: "another operation" });
    expect(requestIn(bytes("00 7f"))).toEqual({ asks: "another operation" });
  });
});

describe("a client", () => {
  test("understands that a server knows only another version, with and without the bit of an answer", () => {
    expect(answerIn(bytes("0000 0001 00000009"))).toEqual({ answers: "nothing", result: 1 });
    expect(answerIn(bytes("0081 0001 00000009"))).toEqual({ answers: "nothing", result: 1 });
  });

  test("understands its own request as the refusal of the operation", () => {
    expect(answerIn(bytes("0082 0005 1ae1 0000 0000003c"))).toEqual({ answers: "nothing", result: 5 });
  });

  test("reads the result of a failure, known or not", () => {
    expect(answerIn(bytes("0081 0004 00000001 1ae1 0000 00000000"))).toMatchObject({ result: 4 });
    expect(answerIn(bytes("0081 00ff 00000001 1ae1 0000 00000000"))).toMatchObject({ result: 255 });
    expect(answerIn(bytes("0080 0003 00000001"))).toMatchObject({ result: 3, address: null });
  });

  test.each([
    ["nothing", ""],
    ["seven bytes", "0080 0000 000000"],
    ["a request", "0001 0000 1ae1 0000 0000003c"],
    ["half an address", "0080 0000 00000001 cb00"],
    ["half a mapping", "0081 0000 00000001 1ae1 c496"],
    ["another version", "0281 0000 00000001 1ae1 c496 0000003c"],
    ["an unknown operation", "0087 0000 00000001 1ae1 c496 0000003c"],
  ])("takes %s for no answer", (_, packet) => {
    expect(answerIn(bytes(packet))).toBeNull();
  });
});
