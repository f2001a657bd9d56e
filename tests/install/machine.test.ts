import { expect, test } from "bun:test";
import { isOnLan } from "../../src/install/machine.ts";
import { ONE_CABLE } from "./example.ts";

test("an SSH session stays where it comes from the LAN or from the machine itself, and nowhere else", () => {
  const stays = ["192.168.7.20", "fd00:7::20", "fe80::1%eth0", "127.0.0.1", "::1"];
  const ends = ["192.168.8.20", "203.0.113.5", "2001:db8::1", "fd00:8::1", ""];
  expect(stays.filter((client) => !isOnLan(client, ONE_CABLE.links))).toEqual([]);
  expect(ends.filter((client) => isOnLan(client, ONE_CABLE.links))).toEqual([]);
});
