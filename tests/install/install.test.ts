import { expect, test } from "bun:test";
import { settingsFrom } from "../../src/base/settings.ts";
import { servedLans } from "../../src/dhcp/lans.ts";
import { closingWords, dhcpWords, givenTo, pageWords, pairingWords } from "../../src/install/install.ts";
import { ONE_CABLE } from "./example.ts";

const STANDS = { stands: true, firewall: true, routing: true, direct: 0, parts: [] };
const OFF = { stands: false, firewall: false, routing: false, direct: 0, parts: [] };

test("the closing words say that the kill switch is in place only if it is", () => {
  expect(closingWords(STANDS, { port: 5000, auth: "off" })).toContain(
    "the kill switch is in place, now and from the start",
  );
  const off = closingWords(OFF, { port: 5000, auth: "off" });
  expect(off).toContain("the kill switch is off");
  expect(off).not.toMatch(/in place|Nothing reaches/);
});

test("if the port is not the default, the closing words say how the commands find it", () => {
  expect(closingWords(STANDS, { port: 5000, auth: "off" })).not.toContain("PORTCULLIS_URL");
  expect(closingWords(STANDS, { port: 8080, auth: "off" })).toContain(
    "export PORTCULLIS_URL=http://127.0.0.1:8080\n",
  );
});

test("if clients need a token, the closing words say how to make one", () => {
  const words = "Tokens:    sudo portcullis token add <name>, for each client\n";
  expect(closingWords(STANDS, { port: 5000, auth: "write" })).toContain(words);
  expect(closingWords(STANDS, { port: 5000, auth: "off" })).not.toContain("token");
});

test("the last thing that is said is where to open the page", () => {
  const at = (settings: Parameters<typeof settingsFrom>[0], network = ONE_CABLE.network) =>
    pageWords(network, settingsFrom(settings), null).split(": ").at(-1);
  expect(at({})).toBe("http://192.168.7.2:5000/");
  expect(at({ port: "8080" })).toBe("http://192.168.7.2:8080/");
  expect(at({}, { ...ONE_CABLE.network, addresses: [] })).toBe("http://<this machine>:5000/");
});

test("HTTPS is on in a new installation, unless a flag says otherwise; an upgrade changes nothing", () => {
  expect(givenTo(null, { lan: "eth0" })).toEqual({ https: "on", lan: "eth0" });
  expect(givenTo(null, { https: "off" })).toEqual({ https: "off" });
  expect(givenTo("PORTCULLIS_LAN=eth0\n", { lan: "eth0" })).toEqual({ lan: "eth0" });
});

test("with HTTPS, the last words have its address, and the fingerprint of a certificate that browsers do not know", () => {
  const words = (settings: Parameters<typeof settingsFrom>[0], fingerprint: string | null = "AB:CD") =>
    pageWords(ONE_CABLE.network, settingsFrom({ https: "on", ...settings }), fingerprint);
  expect(words({})).toBe(`

Now open the page on any device of the LAN; it guides you through the rest: http://192.168.7.2:5000/
Or encrypted: https://192.168.7.2:5443/
Browsers warn of the certificate, because the gateway has made it itself. Accept it if its SHA-256 fingerprint is this one:
AB:CD`);
  const withTokens = words({ auth: "on", https: "443" });
  expect(withTokens).toContain("the rest: https://192.168.7.2:443/\nBrowsers");
  expect(withTokens).not.toContain("http:");
  expect(words({}, null)).toEndWith("Its fingerprint: portcullis https");
  expect(words({ httpsCert: "/a", httpsKey: "/b" })).not.toContain("Browsers");
});

test("with DHCP, the closing words say which addresses it leases, and what the devices need", () => {
  const { network, facts } = ONE_CABLE;
  const words = (dhcp: string, waits: string | null = null) =>
    dhcpWords(servedLans(network, facts, settingsFrom({ dhcp })), waits);
  expect(words("off")).toBe("");
  expect(words("on")).toBe(`
DHCP:      192.168.7.100 to 192.168.7.249 on eth0
Devices use the gateway from their next lease on: reconnect them, or wait until they renew it. Keep DHCP in the home router off.`);
  expect(words("on", "no LAN interface has a carrier")).toBe("\nDHCP waits: no LAN interface has a carrier.");
});

test("a new installation ends with the code for the first owner, and others without one", () => {
  const url = "https://192.168.1.2:5443/#/settings/owner";
  expect(pairingWords({ code: "k7qd-m2xw", minutes: 10, url, fingerprint: "00:11" })).toBe(
    `\n\nTo be able to do on the page what else needs root, open ${url}\nand enter there within 10 minutes: k7qd-m2xw`,
  );
  expect(pairingWords(null)).toBe("");
});
