import { dlopen, ptr } from "bun:ffi";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { nextTurn } from "../../src/base/queue.ts";
import { libc, SOL_SOCKET } from "../../src/system/libc.ts";
import { Rtnetlink } from "../../src/system/rtnetlink.ts";

/** A kernel that is played: what it sends is what the other end of a pair of sockets gets. */
const { socketpair } = dlopen("libc.so.6", {
  socketpair: { args: ["i32", "i32", "i32", "ptr"], returns: "i32" },
}).symbols;
const [AF_UNIX, SOCK_DGRAM, SO_RCVTIMEO] = [1, 2, 20];
const [NEW_LINK, DONE, INTERRUPTED] = [16, 3, 0x10];
/** `struct timeval`: whoever waits for the kernel in the event loop gets nothing after a second. */
const A_SECOND = BigInt64Array.of(1n, 0n);

let kernel = -1;
let asked: Rtnetlink;

beforeEach(() => {
  const ends = Int32Array.of(-1, -1);
  expect(socketpair(AF_UNIX, SOCK_DGRAM, 0, ptr(ends))).toBe(0);
  const [mine = -1, its = -1] = ends;
  libc().setsockopt(mine, SOL_SOCKET, SO_RCVTIMEO, ptr(A_SECOND), A_SECOND.byteLength);
  kernel = its;
  asked = Reflect.construct(Rtnetlink, [mine]) as Rtnetlink;
});

afterEach(() => {
  asked[Symbol.dispose]();
  libc().close(kernel);
});

function says(...messages: { type: number; flags?: number; body?: number }[]): void {
  const part = Buffer.concat(
    messages.map(({ type, flags = 0, body = 0 }) => {
      const bytes = Buffer.alloc(20);
      bytes.writeUInt32LE(bytes.length);
      bytes.writeUInt16LE(type, 4);
      bytes.writeUInt16LE(flags, 6);
      bytes.writeInt32LE(body, 16);
      return bytes;
    }),
  );
  expect(Number(libc().send(kernel, ptr(part), part.length, 0))).toBe(part.length);
}

const listed = () => asked.all({ type: 18, header: Buffer.alloc(16) }, ({ body }) => body.readInt32LE());

test("a list is whole: what changed meanwhile is asked for again, also if only the end says so", async () => {
  says({ type: NEW_LINK, body: 1 });
  says({ type: DONE, flags: INTERRUPTED });
  says({ type: NEW_LINK, body: 2, flags: INTERRUPTED }, { type: DONE });
  says({ type: NEW_LINK, body: 3 }, { type: NEW_LINK, body: 4 });
  says({ type: DONE });
  expect(await listed()).toEqual([3, 4]);
});

test("what changes all the time, or is refused, is not listed", async () => {
  for (let time = 0; time < 3; time += 1)
    says({ type: NEW_LINK, body: time }, { type: DONE, flags: INTERRUPTED });
  expect(await listed()).toBeNull();
  says({ type: NEW_LINK, body: 1 });
  says({ type: DONE, body: -12 });
  expect(await listed()).toBeNull();
});

test("the event loop goes on while the kernel waits with the next part for whoever changes the network", async () => {
  says({ type: NEW_LINK, body: 1 });
  const list = listed();
  setTimeout(() => says({ type: NEW_LINK, body: 2 }, { type: DONE }), 20);
  expect(await list).toEqual([1, 2]);
});

test("each part is read in a turn of its own", async () => {
  for (let part = 0; part < 3; part += 1) says({ type: NEW_LINK, body: part });
  says({ type: DONE });
  let [turn, isOver] = [0, false];
  const turns: number[] = [];
  const list = asked.all({ type: 18, header: Buffer.alloc(16) }, () => turns.push(turn));
  void list.finally(() => {
    isOver = true;
  });
  for (; !isOver; turn += 1) await nextTurn();
  expect(turns).toHaveLength(3);
  expect(new Set(turns).size).toBe(3);
});
