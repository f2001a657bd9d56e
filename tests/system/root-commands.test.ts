import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GatewayError } from "../../src/base/errors.ts";
import { RootCommands } from "../../src/system/root-commands.ts";

let state: string;
beforeAll(() => {
  state = mkdtempSync(join(tmpdir(), "portcullis-root-"));
});
afterAll(() => rmSync(state, { recursive: true }));

const FAILED = new GatewayError("unable", "systemd-run failed: Job for portcullis-change.service failed.");

/** A machine whose commands print this, and fail if `isFailing` says so. */
function machine(prints = "", isFailing = (_: readonly string[]) => false, changeIs = "inactive\n") {
  const commands: string[] = [];
  const run = async (argv: readonly string[]) => {
    commands.push(argv.join(" ").replaceAll(state, "STATE"));
    const file = argv.find((each) => each.startsWith("--property=StandardOutput="))?.split(":")[1];
    if (file !== undefined) writeFileSync(file, prints);
    if (isFailing(argv)) throw argv[0] === "systemctl" ? new Error("systemctl failed") : FAILED;
    return argv[0] === "systemctl" ? changeIs : "";
  };
  const read = async (path: string) => (existsSync(path) ? readFileSync(path, "utf8") : null);
  return { commands, root: new RootCommands({ run, read }, state, "/usr/bin/portcullis") };
}

/** The client may do it until the end. */
const MAY = () => {};

const UNIT = "systemd-run --quiet --collect --unit=portcullis-change";
const PRINTS =
  "--property=StandardOutput=truncate:STATE/change.out --property=StandardError=truncate:STATE/change.err";

test("settings are first tried without changing anything, and then changed by root's own command", async () => {
  const { commands, root } = machine();
  await root.setUp(["--dhcp", "on"], MAY);
  expect(commands).toEqual([
    `${UNIT}-check --property=UMask=0077 ${PRINTS} --property=Type=oneshot --property=SuccessExitStatus=4 -- /usr/bin/portcullis install --yes --dhcp on --dry-run`,
    `${UNIT} --no-block --property=UMask=0077 -- /usr/bin/portcullis install --yes --dhcp on`,
  ]);
});

test("the password of MQTT is in a file for root, and on no command line; it is gone if the settings are refused", async () => {
  const { commands, root } = machine();
  await root.setUp(["--mqtt", "mqtt://portcullis@192.168.1.10"], MAY, "very secret");
  const [name = "", ...others] = readdirSync(state);
  expect(others).toEqual([]);
  const file = join(state, name);
  expect([readFileSync(file, "utf8"), statSync(file).mode & 0o077]).toEqual(["very secret\n", 0]);
  expect(commands.join("\n")).toContain(`--mqtt-password-file STATE/${name}`);
  expect(commands.at(-1)).toContain(`--property=ExecStopPost=-/bin/rm -f STATE/${name} `);
  expect(commands.join("\n")).not.toContain("very secret");
  // The command from before may not have read its own yet.
  const refused = machine("", () => true).root.setUp(["--mqtt", "mqtt://nowhere"], MAY, "another secret");
  await expect(refused).rejects.toThrow();
  expect(readdirSync(state)).toEqual([name]);
  expect(readFileSync(file, "utf8")).toBe("very secret\n");
});

test("an owner who is removed while the settings are tried does not get them, and leaves no password behind", async () => {
  const before = readdirSync(state);
  const { commands, root } = machine();
  const assertMay = () => {
    throw new GatewayError("forbidden", "no owner any more");
  };
  await expect(root.setUp(["--mqtt", "mqtt://x"], assertMay, "a secret")).rejects.toThrow(
    "no owner any more",
  );
  expect([commands.length, commands[0]]).toEqual([1, expect.stringContaining("--dry-run")]);
  expect(readdirSync(state)).toEqual(before);
});

test("what root's command says against it is told, and nothing is changed then", async () => {
  const { commands, root } = machine("portcullis: --dhcp: 192.168.1.1 is a DHCP server\n", () => true);
  await expect(root.setUp(["--dhcp", "on"], MAY)).rejects.toThrow(
    expect.objectContaining({
      code: "bad_request",
      message: "dhcp: 192.168.1.1 is a DHCP server; nothing was changed",
    }),
  );
  const address = machine("portcullis: --mqtt (PORTCULLIS_MQTT): is not an address (x)\n", () => true).root;
  await expect(address.setUp(["--mqtt", "mqtt://a:b:c"], MAY)).rejects.toThrow(
    expect.objectContaining({
      code: "bad_request",
      message: "mqtt: is not an address (x); nothing was changed",
    }),
  );
  const other = machine("portcullis: --lan: there is no interface lan0\n", () => true).root;
  await expect(other.setUp(["--dhcp", "on"], MAY)).rejects.toThrow(
    expect.objectContaining({
      code: "unable",
      message: "--lan: there is no interface lan0; nothing was changed",
    }),
  );
  expect(commands).toHaveLength(1);
  const json = machine('{"success":false,"error":"the signature is not valid"}\n', () => true).root;
  await expect(json.checkUpdate("https://example.org/")).rejects.toThrow("the signature is not valid");
  await expect(machine("", () => true).root.checkUpdate("https://example.org/")).rejects.toThrow(
    FAILED.message,
  );
});

test("a change that goes on after the service has started again is told, and any other fault as it is", async () => {
  for (const [state, told] of [
    ["active\n", "another change is under way; try again in a moment"],
    ["inactive\n", FAILED.message],
  ] as const) {
    const refusing = machine("", (argv) => argv.includes("--no-block"), state).root;
    await expect(refusing.update("https://example.org/")).rejects.toThrow(told);
  }
  const silent = machine("", (argv) => argv.includes("--no-block") || argv[0] === "systemctl").root;
  await expect(silent.update("https://example.org/")).rejects.toBe(FAILED);
});

test("two changes at once are one, and a program that is not installed changes nothing", async () => {
  const { commands, root } = machine();
  const both = await Promise.allSettled([
    root.setUp(["--auth", "on"], MAY),
    root.update("https://example.org/"),
  ]);
  expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  expect(commands).toHaveLength(2);
  const own = new RootCommands({ run: () => Promise.reject(FAILED), read: async () => null }, state);
  await expect(own.setUp(["--auth", "on"], MAY)).rejects.toThrow("this is not the installed program");
});

test("the access point ends with the service, at the latest when nobody can claim the gateway any more, and its namespace with it", async () => {
  const { commands, root } = machine();
  await root.openAccessPoint("wlan0");
  await root.closeAccessPoint();
  const properties = [
    ...["UMask=0077", "BindsTo=portcullis.service", "RuntimeMaxSec=15min"],
    "RuntimeDirectory=portcullis-access-point",
    "ExecStopPost=-/usr/sbin/ip netns delete portcullis-access-point",
  ];
  expect(commands).toEqual([
    `systemd-run --quiet --collect --unit=portcullis-access-point --no-block ${properties.map((each) => `--property=${each}`).join(" ")} -- /usr/bin/portcullis access-point wlan0`,
    "systemctl stop portcullis-access-point.service",
  ]);
});

test("whatever ends a change of the ports, what puts their former roles back runs after it", async () => {
  const { commands, root } = machine();
  await root.assignPorts({ uplink: "eth0", lans: ["eth1", "eth2"] });
  await root.restorePorts();
  expect(commands).toEqual([
    `${UNIT} --no-block --property=UMask=0077 --property=ExecStopPost=/usr/bin/portcullis restore-ports --property=TimeoutStopSec=10min -- /usr/bin/portcullis assign-ports eth0 eth1 eth2`,
    `${UNIT} --no-block --property=UMask=0077 -- /usr/bin/portcullis restore-ports`,
  ]);
});
