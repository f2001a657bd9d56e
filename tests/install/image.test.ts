import { expect, test } from "bun:test";
import { settingsFrom } from "../../src/base/settings.ts";
import { givenIn } from "../../src/install/environment.ts";
import { imagePlan } from "../../src/install/image.ts";

const PLAN = imagePlan("1.2.3");

/** The file that the image has there. */
function fileAt(path: string): string {
  const step = PLAN.find((each) => each.do === "write" && each.path === path);
  return step?.do === "write" ? step.text : "";
}

test("an image has files only, among them all that the kill switch loads at boot", () => {
  expect(new Set(PLAN.map((step) => step.do))).toEqual(new Set(["write"]));
  for (const name of ["firewall.nft", "rules-4.batch", "rules-6.batch"])
    expect(fileAt(`/var/lib/portcullis/boot/${name}`)).not.toBe("");
});

test("before it is known which cable is which, an image permits DHCP and neighbour discovery by the first, and nothing else", () => {
  const out = fileAt("/var/lib/portcullis/boot/firewall.nft")
    .split("\n")
    .filter((line) => line.includes("oifname") && line.includes(" accept "));
  expect(out.filter((line) => line.includes("udp sport 68 udp dport 67"))).toHaveLength(1);
  // WireGuard's rules name sets, which are empty.
  const others = out.filter((line) => !line.includes("@servers_") && !/oifname "lo"/.test(line));
  expect(others.filter((line) => !/"(DHCP|DHCPv6|IPv6 neighbour)[^"]*"$/.test(line))).toEqual([]);
  expect(others.every((line) => line.includes('oifname "eth0"'))).toBe(true);
  expect(fileAt("/var/lib/portcullis/boot/rules-4.batch")).toContain("rule add priority 90 unreachable\n");
});

test("its settings are valid: the page at the usual ports, for owners only, and one cable", () => {
  const { port, https, auth, lan, uplink } = settingsFrom(givenIn(fileAt("/etc/portcullis/portcullis.env")));
  expect({ port, https, auth, lan, uplink }).toEqual({
    ...{ port: 80, https: 443, auth: "on", lan: ["eth0"], uplink: "eth0" },
  });
  expect(fileAt("/var/lib/portcullis/claim")).toBe("open\n");
});
