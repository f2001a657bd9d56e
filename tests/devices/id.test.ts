import { expect, test } from "bun:test";
import { mustParsePrefix } from "../../src/address.ts";
import { deviceIdIn, isDeviceId, overlap } from "../../src/devices/id.ts";

test.each([
  ["AA-BB-CC-DD-EE-0F", "aa:bb:cc:dd:ee:0f"],
  ["10.1.2.3/16", "10.1.0.0/16"],
  ["10.1.2.3", "10.1.2.3/32"],
  ["172.31.255.255/12", "172.16.0.0/12"],
  ["192.168.0.0/16", "192.168.0.0/16"],
  ["FD00:1:0::5/64", "fd00:1::/64"],
  ["fc00::/7", "fc00::/7"],
])("%s is the device %s", (text, id) => {
  expect<string>(deviceIdIn(text)).toBe(id);
  expect([isDeviceId(text), isDeviceId(id)]).toEqual([text === id, true]);
});

const NEITHER = "id: must be a MAC address or, for devices behind another router, a prefix";
const PUBLIC = "id: is not an address of a private network";

test.each([
  ["", NEITHER],
  ["tv", NEITHER],
  ["01:00:5e:00:00:fb", NEITHER],
  ["10.1.2.3/33", NEITHER],
  ["10.1.2.3/-1", NEITHER],
  ["10.1.2.3/8/8", NEITHER],
  ["010.1.2.3/8", NEITHER],
  ["fe80::1%lan0", NEITHER],
  ["../../etc/passwd", NEITHER],
  ["8.8.8.8", PUBLIC],
  ["2001:db8::/64", PUBLIC],
  ["0.0.0.0/0", PUBLIC],
  ["::/0", PUBLIC],
  ["127.0.0.1", PUBLIC],
  ["224.0.0.1", PUBLIC],
  ["169.254.1.1", PUBLIC],
  ["fe80::1", PUBLIC],
  ["::ffff:10.1.2.3", PUBLIC],
  ["10.0.0.0/7", "id: reaches beyond the private network 10.0.0.0/8"],
  ["192.168.0.0/15", "id: reaches beyond the private network 192.168.0.0/16"],
  ["fd00::/6", "id: reaches beyond the private network fc00::/7"],
])("%j is refused: %s", (text, why) => {
  expect(() => deviceIdIn(text)).toThrow(why);
  expect(isDeviceId(text)).toBe(false);
});

test("prefixes overlap if one contains the other", () => {
  const between = (one: string, other: string) => overlap(mustParsePrefix(one), mustParsePrefix(other));
  expect(between("10.1.0.0/16", "10.1.2.0/24")).toBe(true);
  expect(between("10.1.2.0/24", "10.1.0.0/16")).toBe(true);
  expect(between("10.1.2.0/24", "10.1.2.0/24")).toBe(true);
  expect(between("10.1.2.0/24", "10.1.3.0/24")).toBe(false);
  expect(between("fd00::/64", "10.0.0.0/8")).toBe(false);
});
