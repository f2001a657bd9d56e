import { afterAll, beforeAll, beforeEach, expect } from "bun:test";
import { AUTHORITATIVE_ANSWER, encode } from "dns-packet";
import { INTERNET, LAN, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { Website } from "../rig/peers/website.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { askGateway } from "../rig/tools/question.ts";
import { until } from "../rig/tools/until.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

const { test } = long("each case of what the leaks show in passing");

const TEST_MS = 240_000;
/** In the lab, all names below this one are aliases of one host, with a TTL of 0. */
const HOST = "internet.test";
const PAGE = `http://${INTERNET.host4}/`;

let lab: Lab;
let gateway: Gateway;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  gateway = await lab.startGateway();
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  await gateway.ask("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
  await gateway.keep();
}, TEST_MS);
beforeEach(() => gateway.reset(), TEST_MS);
afterAll(() => lab?.close(), TEST_MS);

/** A device that has sent nothing is not known. */
async function clientId(): Promise<string> {
  await lab.exec(lab.namespaces.client, ["ping", "-c1", "-W5", LAN.gateway4]);
  let known: { id: string; addresses: string[] } | undefined;
  await until(async () => {
    const { devices } = await gateway.ask("GET", "/api/devices");
    known = devices.find(({ addresses }: { addresses: string[] }) => addresses.includes(LAN.client4));
    return known !== undefined;
  });
  return known?.id ?? "";
}

const lead = (name: string, exit: string, devices: readonly string[] = []) =>
  gateway.ask("POST", "/api/destinations", { names: [name], exit, devices });
const page = () => lab.fetchFrom(lab.namespaces.client, PAGE);

const resolve = (name: string, type: "A" | "PTR" = "A") => askGateway(lab.namespaces.client, name, type);

/** The questions for such names, and the packets to the host, that each exit saw during the work. */
async function seenDuring(work: () => Promise<unknown>, names = new RegExp(` a\\? .*${HOST}`)) {
  const { vpn1, vpn2 } = lab.sandbox.serverInterfaces;
  const filter = `port 53 or dst host ${INTERNET.host4}`;
  const [sniffer, ...taps] = await Promise.all([
    lab.sniff(),
    Wiretap.start(lab.namespaces.vpn1, vpn1, filter),
    Wiretap.start(lab.namespaces.vpn2, vpn2, filter),
  ]);
  await work();
  const [first, second] = await Promise.all(
    taps.map(async (tap) => {
      const lines = (await tap.stop()).map((line) => line.toLowerCase());
      return {
        asked: lines.some((line) => names.test(line)),
        // While the table is away, a datagram that comes back finds no device, and the gateway itself says so by `main`.
        used: lines.some(
          (line) => line.includes(` > ${INTERNET.host4}`) && !/: icmp .* unreachable/.test(line),
        ),
      };
    }),
  );
  const { leaks } = await sniffer.stop();
  return { first, second, leaks };
}

const ALL = { asked: true, used: true };
const NOTHING = { asked: false, used: false };

test(
  "positive control: without a rule, question and traffic are seen at the device's exit",
  async () => {
    await gateway.ask("PUT", "/api/dns/lists", { lists: [{ url: "https://nowhere.test/list" }] });
    const seen = await seenDuring(async () => {
      expect(await resolve(`www.${HOST}`)).toEqual([INTERNET.host4]);
      expect(await page()).toContain(VPN.vpn1.v4);
    });
    expect(seen).toEqual({ first: ALL, second: NOTHING, leaks: [] });
  },
  TEST_MS,
);

test(
  "an address that two names share takes the exit of the longer one, whatever devices the rules are for",
  async () => {
    const id = await clientId();
    const other = "02:00:00:00:00:77";
    await lead(HOST, "second", [id, other]);
    await lead(`video.${HOST}`, "main", [id]);
    await resolve(HOST);
    expect(await page()).toContain(VPN.vpn2.v4);
    expect(await resolve(`x.video.${HOST}`)).toEqual([INTERNET.host4]);
    expect(await page()).toContain(VPN.vpn1.v4);
    await resolve(HOST);
    expect(await page()).toContain(VPN.vpn1.v4);
  },
  TEST_MS,
);

test(
  "names and addresses of the home are answered, and no exit sees a question for them",
  async () => {
    await lead("elsewhere.test", "second");
    const id = await clientId();
    await gateway.ask("PUT", `/api/devices/${id}`, { name: "TV" });
    const reverse = (address: string) => `${address.split(".").reverse().join(".")}.in-addr.arpa`;
    const seen = await seenDuring(async () => {
      expect(await resolve("tv.home.arpa")).toEqual([LAN.client4]);
      expect(await resolve("tv")).toEqual([LAN.client4]);
      expect(await resolve("portcullis.home.arpa")).toEqual([LAN.gateway4]);
      expect(await resolve(reverse(LAN.client4), "PTR")).toEqual(["tv.home.arpa"]);
      for (const name of ["nas.home.arpa", "nas.local"]) expect(await resolve(name)).toEqual(["NXDOMAIN"]);
      expect(await resolve("nas")).toEqual(["NOERROR"]);
      // Positive control: other questions are seen.
      expect(await resolve(HOST)).toEqual([INTERNET.host4]);
      await page();
    }, / (a|ptr)\? .*(tv|nas|home\.arpa|in-addr\.arpa)/);
    expect(seen).toEqual({ first: { asked: false, used: true }, second: NOTHING, leaks: [] });
    const { why, rule } = await gateway.ask(
      "GET",
      `/api/destinations/explain?device=${id}&name=nas.home.arpa`,
    );
    expect([why, rule]).toEqual([expect.stringContaining("which the gateway answers itself"), null]);
  },
  TEST_MS,
);

test(
  "a device that asks by HTTPS elsewhere is not led by names, is by networks, and leaves by its exit and no other",
  async () => {
    const website = await Website.start(lab);
    try {
      // What a resolver would say to curl, which asks with the id 0.
      const answer = encode({
        ...{ type: "response", id: 0, flags: AUTHORITATIVE_ANSWER },
        questions: [{ type: "A", name: `film.${HOST}` }],
        answers: [{ type: "A", name: `film.${HOST}`, ttl: 300, data: INTERNET.host4 }],
      });
      website.show("dns-query", answer);
      const elsewhere = ["--doh-url", `https://${INTERNET.host4}/dns-query`, "--doh-insecure"];
      const browse = async () => {
        const argv = ["curl", "-4", "-sf", "-m", "20", ...elsewhere, `http://film.${HOST}/`];
        return (await lab.exec(lab.namespaces.client, argv)).stdout;
      };
      await lead(HOST, "second");
      const seen = await seenDuring(async () => {
        // Browsers that ask for this name leave DNS over HTTPS off.
        expect(await resolve("use-application-dns.net")).toEqual(["NXDOMAIN"]);
        website.visits();
        expect(await browse()).toContain(VPN.vpn1.v4);
        expect(website.visits()).toMatchObject([{ path: "dns-query", from: VPN.vpn1.v4, status: 200 }]);
      });
      expect(seen).toEqual({ first: { asked: false, used: true }, second: NOTHING, leaks: [] });
      await gateway.ask("POST", "/api/destinations", { prefixes: [`${INTERNET.host4}/32`], exit: "second" });
      const led = await seenDuring(async () => expect(await browse()).toContain(VPN.vpn2.v4));
      expect(led).toEqual({ first: NOTHING, second: { asked: false, used: true }, leaks: [] });
      // Positive control: whoever asks the gateway is led by the name.
      await gateway.reset();
      await lead(HOST, "second");
      expect(await resolve(`film.${HOST}`)).toEqual([INTERNET.host4]);
      expect(await browse()).toContain(VPN.vpn2.v4);
    } finally {
      await website.stop();
    }
  },
  TEST_MS,
);
