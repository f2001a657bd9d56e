import { expect, test } from "bun:test";
import { lansWith } from "../../src/dashboard/ports.ts";

test.each([
  ["eth0", ["eth0"], ["eth1,eth2", "eth0"]],
  ["eth0", ["eth1"], ["eth1", "eth1,eth2", "eth0"]],
  ["eth1", ["eth0"], ["eth0", "eth0,eth2", "eth1"]],
  ["eth0", ["eth1", "eth2"], ["eth1,eth2", "eth0"]],
  // The present LAN cannot stay.
  ["eth1", ["eth1"], ["eth0,eth2", "eth1"]],
  ["eth1", ["eth1", "eth2"], ["eth0,eth2", "eth1"]],
  ["eth2", [], ["eth0,eth1", "eth2"]],
])("with the uplink %s, and %p as LAN so far, the page offers %p", (uplink, present, offered) => {
  expect(lansWith(uplink, ["eth0", "eth1", "eth2"], present)).toEqual(offered);
});
