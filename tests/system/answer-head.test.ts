import { expect, test } from "bun:test";
import { AnswerHead } from "../../src/system/speed/answer-head.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const HEAD = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\nServer: x\r\n\r\n";

test("a head is read wherever it is cut, and the rest is the body", () => {
  for (let cut = 1; cut < HEAD.length; cut++) {
    const head = new AnswerHead();
    expect(head.read(bytes(HEAD.slice(0, cut)))).toBeNull();
    const rest = head.read(bytes(`${HEAD.slice(cut)}body`));
    expect([new TextDecoder().decode(rest ?? undefined), head.isRead, head.length]).toEqual([
      "body",
      true,
      12,
    ]);
  }
});

test("heads that only announce the answer are skipped, wherever they are cut, but not for ever", () => {
  const early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
  const all = `${early}HTTP/1.1 100 Continue\r\n\r\n${HEAD}`;
  for (let cut = 0; cut < all.length; cut++) {
    const head = new AnswerHead();
    expect(head.read(bytes(all.slice(0, cut)))).toBeNull();
    const rest = head.read(bytes(`${all.slice(cut)}body`));
    expect([new TextDecoder().decode(rest ?? undefined), head.length]).toEqual(["body", 12]);
  }
  const long = early.replace("</a>", `<${"a".repeat(5_000)}>`);
  const endless = new AnswerHead();
  const more = () => endless.read(bytes(long));
  for (let length = long.length; length <= 65_536; length += long.length) expect(more()).toBeNull();
  expect(more).toThrow("it does not come to its answer");
  expect(() => new AnswerHead().read(bytes("HTTP/1.1 101 Switching Protocols\r\n\r\n"))).toThrow(
    "it answers 101",
  );
});

test("without a length, the body ends with the connection", () => {
  const head = new AnswerHead();
  expect(head.read(bytes("HTTP/1.0 200 OK\r\n\r\n"))?.length).toBe(0);
  expect(head.length).toBeNull();
});

test("any other answer is refused, in words", () => {
  const said = (text: string) => () => new AnswerHead().read(bytes(text));
  expect(said("HTTP/1.1 302 Found\r\nLocation: https://x/\r\n\r\n")).toThrow(
    "it answers 302 and points elsewhere",
  );
  expect(said("HTTP/1.1 403 Forbidden\r\n\r\n")).toThrow("it answers 403");
  expect(said("220 mail ESMTP\r\n\r\n")).toThrow("what it answers is not HTTP");
  expect(said("x".repeat(70_000))).toThrow("it does not come to its answer");
});
