import { expect, setDefaultTimeout, test } from "bun:test";
import { Command } from "commander";
import { GatewayError } from "../../src/base/errors.ts";
import { FLAGS } from "../../src/base/flags.ts";
import { addressIn, localUrl, settingsFrom } from "../../src/base/settings.ts";
import { optionFor } from "../../src/cli/settings.ts";
import { ownLinks } from "../../src/network/slot.ts";
import { commandLine } from "../cli/program.ts";
import { slow } from "../fast.ts";

setDefaultTimeout(240_000);

test.each(["::", "0.0.0.0", "127.0.0.1", "fd00::1", "fe80::1%eth0", "localhost"])(
  "%s is an address to listen on",
  (host) => {
    expect(settingsFrom({ host }).host).toBe(host);
  },
);

test.each([
  ["::", 5000, "http://127.0.0.1:5000"],
  ["0.0.0.0", 5000, "http://127.0.0.1:5000"],
  ["127.0.0.1", 80, "http://127.0.0.1"],
  ["fd00:0::1", 5000, "http://[fd00::1]:5000"],
  ["fe80::1%eth0", 5000, "http://[fe80::1%eth0]:5000"],
])(
  "at %s port %d, commands of this machine reach it at %s, which is what they call the origin",
  (host, port, url) => {
    expect(localUrl({ host, port })).toBe(url);
  },
);

test("localhost is the address that root's commands send their token to, whatever /etc/hosts says", () => {
  const localhost = { host: "localhost", port: 5000 };
  expect([addressIn(localhost), localUrl(localhost)]).toEqual(["127.0.0.1", "http://127.0.0.1:5000"]);
});

const REFUSAL =
  "--host (PORTCULLIS_HOST): must be an IP address or localhost (address to listen on; :: is every address)";

test.each(["nonsense", "gateway.lan", "127.0.0.1:80", "256.0.0.1", "[::]", "*"])("%s is refused", (host) => {
  expect(() => settingsFrom({ host })).toThrow(new GatewayError("bad_request", REFUSAL));
});

slow.test("serve with such an address exits with code 2 and one line, before it does anything", () => {
  const { exitCode, stdout, stderr } = Bun.spawnSync(commandLine("serve", "--host", "nonsense"), {
    // No program of the machine can be found, so none can have run.
    env: { PATH: "" },
  });
  expect({ exitCode, stdout: stdout.toString(), stderr: stderr.toString() }).toEqual({
    exitCode: 2,
    stdout: "",
    stderr: `portcullis: ${REFUSAL}\n`,
  });
});

test.each([
  [{ uplink: "portcullis0" }, "--uplink (PORTCULLIS_UPLINK): portcullis0"],
  [{ lan: "eth0,eth15", interface: "eth", uplink: "eth16" }, "--lan (PORTCULLIS_LAN): eth0"],
])("%j is refused, because tunnels have such names", (texts, text) => {
  expect(() => settingsFrom(texts)).toThrow(
    `${text} is the name of a tunnel's interface; choose another base name with --interface`,
  );
});

test("an interface whose name no tunnel can have may be the uplink", () => {
  const base = "portcullis";
  const names = [...Array.from({ length: 100 }, (_, number) => `${base}${number}`), `${base}r`];
  const refused = names.filter((uplink) => {
    try {
      return settingsFrom({ uplink }).uplink === null;
    } catch {
      return true;
    }
  });
  expect(refused).toEqual(ownLinks(base));
});

test("--dhcp alone turns DHCP on; with a value it is that", () => {
  const dhcp = (...words: string[]) =>
    settingsFrom(new Command().addOption(optionFor(FLAGS.dhcp)).parse(words, { from: "user" }).opts()).dhcp;
  expect(dhcp()).toBeNull();
  expect(dhcp("--dhcp")).toEqual([]);
  expect(dhcp("--dhcp", "off")).toBeNull();
  expect(dhcp("--dhcp", "192.168.7.100-192.168.7.199,10.5.0.9-10.5.0.99")).toEqual([
    "192.168.7.100-192.168.7.199",
    "10.5.0.9-10.5.0.99",
  ]);
});

const notify = (...words: string[]) =>
  settingsFrom(new Command().addOption(optionFor(FLAGS.notify)).parse(words, { from: "user" }).opts()).notify;

test("--notify may be repeated, and the variable is a list like that of --lan", () => {
  expect(notify()).toEqual([]);
  expect(
    notify("--notify", "ntfy://a/b", "--notify", "/etc/file,https://c", "--notify", "gotify://d/e"),
  ).toEqual(["ntfy://a/b", "/etc/file", "https://c", "gotify://d/e"]);
  expect(settingsFrom({ notify: " ntfy://a/b , , https://c " }).notify).toEqual(["ntfy://a/b", "https://c"]);
});

test("--name takes names of a machine, and nothing else", () => {
  expect(settingsFrom({ name: "gateway.lan, pi" }).name).toEqual(["gateway.lan", "pi"]);
  for (const name of ["gateway.lan:5000", "http://gateway.lan", "a b", "*.lan", "192.168.1.1"])
    expect(() => settingsFrom({ name })).toThrow(
      "--name (PORTCULLIS_NAME): must be names of a machine, without port or address",
    );
});

slow.test("a wrong address is refused without being quoted", () => {
  const wrong = ["SECRET", "ftp://SECRET", "ntfy://SECRET with space", "https://fine,SECRET"];
  for (const address of wrong) {
    const { exitCode, stderr } = Bun.spawnSync(commandLine("serve"), {
      env: { PATH: "", PORTCULLIS_NOTIFY: address },
    });
    expect(exitCode).toBe(2);
    expect(stderr.toString()).toStartWith("portcullis: --notify (PORTCULLIS_NOTIFY): must match pattern");
    expect(stderr.toString()).not.toContain("SECRET");
  }
});

test.each([
  "mqtt://192.168.1.10",
  "mqtt://ha@192.168.1.10:1884/",
  "mqtts://ha%40home@broker.example",
  "mqtts://[fd00::10]:8883",
])("%s is the address of a broker", (mqtt) => {
  expect(settingsFrom({ mqtt }).mqtt).toBe(mqtt);
});

test.each([
  "192.168.1.10",
  "http://192.168.1.10",
  "mqtt://",
  "mqtt://a b",
  "mqtt://host/topic",
  "mqtt://host:0",
  "mqtt://host:65536",
  "mqtt://a%zz@host",
  "mqtt://a%ff@host",
])("%s is not the address of a broker", (mqtt) => {
  expect(() => settingsFrom({ mqtt })).toThrow(
    /^--mqtt \(PORTCULLIS_MQTT\): (must match pattern|is not an address)/,
  );
});

test("a password in a broker's address is refused, and not quoted", () => {
  const refusal = (mqtt: string) => {
    try {
      return settingsFrom({ mqtt });
    } catch (error) {
      return (error as Error).message;
    }
  };
  for (const secret of ["secret", "sec@ret", "sec:ret", ""]) {
    const message = refusal(`mqtt://ha:${secret}@192.168.1.10`);
    expect(message).toStartWith(
      "--mqtt (PORTCULLIS_MQTT): must not hold a password; put it into a file and name that with --mqtt-password-file",
    );
    if (secret !== "") expect(message).not.toContain(secret);
  }
});

test("HTTPS is off unless it is turned on, at its own port or another than HTTP's", () => {
  const at = (https: string) => settingsFrom({ https }).https;
  expect([settingsFrom({}).https, at("off"), at("on"), at("443")]).toEqual([null, null, 5443, 443]);
  expect(optionFor(FLAGS.https).presetArg).toBe("on");
  for (const https of ["yes", "0", "65536", "-1"])
    expect(() => at(https)).toThrow("--https (PORTCULLIS_HTTPS): ");
  expect(() => at("5000")).toThrow("must be another port than that of HTTP");
  expect(() => settingsFrom({ https: "on", port: "5443" })).toThrow("must be another port than that of HTTP");
});

test("a certificate of one's own is two files", () => {
  const files = { httpsCert: "/etc/own/cert.pem", httpsKey: "/etc/own/key.pem" };
  expect(settingsFrom(files)).toMatchObject(files);
  expect(() => settingsFrom({ httpsCert: "/a" })).toThrow(
    "--https-key (PORTCULLIS_HTTPS_KEY): is needed too",
  );
  expect(() => settingsFrom({ httpsKey: "/a" })).toThrow(
    "--https-cert (PORTCULLIS_HTTPS_CERT): is needed too",
  );
  expect(() => settingsFrom({ httpsCert: "a.pem", httpsKey: "/b" })).toThrow(
    "--https-cert (PORTCULLIS_HTTPS_CERT)",
  );
});
