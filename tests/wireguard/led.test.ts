import { expect, test } from "bun:test";
import { parseConfig } from "../../src/wireguard/config.ts";
import { ledPrefixes } from "../../src/wireguard/led.ts";
import { ip } from "../fake/address.ts";

const file = (dns: string, allowed: string, address = "10.2.0.2/32") => `[Interface]
PrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=
Address = ${address}
DNS = ${dns}

[Peer]
PublicKey = xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=
Endpoint = 192.0.2.7:51820
AllowedIPs = ${allowed}
`;
const read = (...given: Parameters<typeof file>) => {
  const { config, warnings } = parseConfig(file(...given));
  return { led: ledPrefixes(config).map(String), warnings };
};
/** All but the private networks, as wgcf and others write it. */
const PUBLIC = "0.0.0.0/5, 8.0.0.0/7, 11.0.0.0/8, 12.0.0.0/6, 128.0.0.0/3";

test("a resolver that AllowedIPs leave out is led into the tunnel, and the import says so", () => {
  expect(read("10.2.0.1, 9.9.9.9", PUBLIC)).toEqual({
    led: [...PUBLIC.split(", "), "10.2.0.1/32"],
    warnings: ["line 4: DNS: 10.2.0.1 is not in AllowedIPs; it is led into the tunnel all the same"],
  });
});

test("a resolver that they have, or of a family that the tunnel does not carry, changes nothing", () => {
  const halves = "0.0.0.0/1, 128.0.0.0/1, ::/1, 8000::/1";
  expect(read("10.2.0.1", halves)).toEqual({ led: halves.split(", "), warnings: [] });
  expect(read("fd00::53, 10.2.0.1", "0.0.0.0/0")).toEqual({ led: ["0.0.0.0/0"], warnings: [] });
  expect(read("fd00::53", "0.0.0.0/0", "10.2.0.2/32, fd00::2/128").led).toEqual([
    "0.0.0.0/0",
    "fd00::53/128",
  ]);
});

test("the longest lists are looked up, which takes a few milliseconds", () => {
  const prefixes = Array.from({ length: 1_024 }, (_, at) => `11.${at >> 8}.${at & 255}.0/24`).join(", ");
  const { config } = parseConfig(file("10.2.0.1", prefixes));
  config.interface.dns = Array.from({ length: 16 }, (_, at) => ip(`10.2.0.${at + 1}`));
  const taken = Array.from({ length: 10 }, () => {
    const start = performance.now();
    expect(ledPrefixes(config).length).toBe(1_040);
    return performance.now() - start;
  });
  // A busy machine takes longer for some.
  expect(Math.min(...taken)).toBeLessThan(20);
});
