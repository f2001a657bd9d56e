import { expect, test } from "bun:test";
import { decode, encode } from "dns-packet";
import { answerTo } from "../../src/access-point/mdns.ts";
import { portalPage } from "../../src/access-point/page.ts";
import { portalAnswer } from "../../src/access-point/portal.ts";
import { ADDRESS, dnsmasqCommand, hostapdConfig } from "../../src/access-point/settings.ts";
import { LANGUAGE_NAMES, type LanguageCode } from "../../src/shared/languages.ts";

const NAME = "portcullis.local";

const asked = (url: string, headers: Record<string, string> = {}, method = "GET") =>
  portalAnswer(new Request(url, { method, headers: { host: new URL(url).host, ...headers } }), ADDRESS, NAME);

test.each([
  ["Apple", "http://captive.apple.com/hotspot-detect.html"],
  ["Android", "http://connectivitycheck.gstatic.com/generate_204"],
  ["Windows", "http://www.msftconnecttest.com/connecttest.txt"],
  ["Firefox", "http://detectportal.firefox.com/canonical.html"],
  ["a person", "http://192.168.1.1/"],
])("what %s asks to find out whether it is online leads to the page", (_, url) => {
  const { status, headers } = asked(url);
  expect([status, headers.get("location")]).toEqual([302, "http://192.168.73.1/"]);
});

test("the page is in the device's language, and says how to go on", async () => {
  const answer = asked("http://192.168.73.1/", { "accept-language": "de-AT, en;q=0.5" });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  const html = await answer.text();
  expect(html).toContain('<html lang="de">');
  expect(html).toContain("Es steckt kein Netzwerkkabel");
  expect(html).toContain('<a href="https://portcullis.local/">');
});

test("the page names the address twice and the minutes once in each language", () => {
  for (const language of Object.keys(LANGUAGE_NAMES) as LanguageCode[]) {
    const html = portalPage(language, NAME);
    expect(html.split('href="https://portcullis.local/"')).toHaveLength(3);
    expect(html.split("10")).toHaveLength(2);
    expect(html).not.toMatch(/[{}]\w|\w[{}]/);
  }
});

test("a device that asks as RFC 8908 says is told that it is captive", async () => {
  const answer = asked("http://192.168.73.1/", { accept: "application/captive+json" });
  expect(answer.headers.get("content-type")).toBe("application/captive+json");
  expect(await answer.json()).toEqual({ captive: true, "user-portal-url": "http://192.168.73.1/" });
});

test("the gateway's own name leads to its own page, and nothing is sent to the portal", () => {
  expect(asked("http://portcullis.local/anything").headers.get("location")).toBe("https://portcullis.local/");
  expect(asked("http://192.168.73.1/", {}, "POST").status).toBe(405);
});

const question = (name: string, type: "A" | "AAAA" | "PTR", id = 0) =>
  encode({ type: "query", id, questions: [{ type, name, class: "IN" }] });

test("the gateway's name is answered with its address, as at home", () => {
  const answer = decode(Buffer.from(answerTo(question("Portcullis.local", "A"), NAME, ADDRESS, false) ?? []));
  expect(answer).toMatchObject({ id: 0, type: "response", questions: [] });
  expect(answer.answers).toEqual([
    expect.objectContaining({ name: NAME, type: "A", data: ADDRESS, flush: true }),
  ]);
  const legacy = decode(Buffer.from(answerTo(question(NAME, "A", 7), NAME, ADDRESS, true) ?? []));
  expect(legacy).toMatchObject({ id: 7, questions: [{ name: NAME, type: "A" }] });
  expect(legacy.answers).toEqual([expect.objectContaining({ data: ADDRESS, flush: false })]);
});

test("the gateway's name is found among the names that a device asks for at once", () => {
  const names = ["printer.local", "a.b.local", NAME];
  const message = encode({ type: "query", id: 9, questions: names.map((name) => ({ type: "A", name })) });
  const { answers, questions } = decode(Buffer.from(answerTo(message, NAME, ADDRESS, true) ?? []));
  expect(questions).toEqual([expect.objectContaining({ name: NAME, type: "A", class: "IN" })]);
  expect(answers).toEqual([expect.objectContaining({ name: NAME, type: "A", data: ADDRESS, ttl: 10 })]);
});

test.each([
  ["another name", question("printer.local", "A")],
  ["another type", question(NAME, "PTR")],
  ["a response", encode({ type: "response", questions: [{ type: "A", name: NAME }] })],
  ["nothing", new Uint8Array()],
  ["what is cut off", question(NAME, "A").subarray(0, -1)],
  ["a name that points to itself", Uint8Array.of(0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1)],
])("%s gets no answer", (_, message) => {
  expect(answerTo(message, NAME, ADDRESS, false)).toBeNull();
});

test("stations do not reach one another, and there is no passphrase", () => {
  const config = hostapdConfig("wlan0", "02:00:00:ab:cd:ef\n");
  expect(config).toContain("ap_isolate=1\n");
  expect(config).toContain("ssid=Portcullis-CDEF\n");
  expect(config).not.toContain("wpa");
});

test("each name leads to the gateway, and addresses come with option 114", () => {
  const words = dnsmasqCommand("wlan0");
  expect(words).toContain("--address=/#/192.168.73.1");
  expect(words).toContain("--dhcp-option=114,http://192.168.73.1/");
});
