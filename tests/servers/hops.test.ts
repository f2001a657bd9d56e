import { expect, test } from "bun:test";
import { pairOf, reachedVia } from "../../src/servers/hops.ts";
import { SERVER } from "./example.ts";

const EXIT = { ...SERVER, name: "exit", multihopPort: 3001 };
const ENTRY = { ...SERVER, name: "entry" };

test.each([
  [
    "the exit",
    { ...EXIT, registers: true as const },
    ENTRY,
    "server: exit cannot be reached through another server, because the gateway registers with it for each connection; leave out via",
  ],
  [
    "the entry",
    EXIT,
    { ...ENTRY, registers: true as const },
    "via: entry cannot be the entry, because the gateway registers with it for each connection; choose another entry",
  ],
])("a server that registers the gateway cannot be %s of two hops", (_, exit, entry, fault) => {
  expect(pairOf(exit, entry)).toBeNull();
  expect(() => reachedVia(exit, entry)).toThrow(fault);
});
