import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closeLan, goBack } from "../../src/install/ports.ts";
import { keepBefore } from "../../src/install/ports-before.ts";
import { answerOn } from "../../src/operator/socket.ts";
import { FakeHost } from "../fake/host.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-roles-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A machine with what `before` notes of files of its own. */
function machine(note: (portsBefore: string) => void) {
  const host = new FakeHost();
  const notes = { portsBefore: join(folder, "before"), portsFailed: join(folder, "failed") };
  note(notes.portsBefore);
  const commands: string[] = [];
  // It has no port.
  host.run = async (argv) => {
    if (argv[0] === "ip") return "[]";
    commands.push(argv.join(" "));
    return "";
  };
  return { host, notes, commands, failed: () => readFileSync(notes.portsFailed, "utf8").trim() };
}

const DHCP = "/etc/portcullis-dhcp.conf";

test("a change that was cut off says so; one that has failed says why", async () => {
  const nothing = (file: string) => keepBefore(file, []);
  const cut = machine(nothing);
  await goBack(cut.host, cut.notes);
  expect([existsSync(cut.notes.portsBefore), cut.failed()]).toEqual([
    false,
    "the change was cut off, as by a power cut",
  ]);
  nothing(cut.notes.portsBefore);
  writeFileSync(cut.notes.portsFailed, "an address for eth1 did not come\n");
  await goBack(cut.host, cut.notes);
  expect(cut.failed()).toBe("an address for eth1 did not come");
});

test("without a change there is nothing to go back from", async () => {
  const { host, notes, commands } = machine(() => {});
  await goBack(host, notes);
  expect([commands, existsSync(notes.portsFailed)]).toEqual([[], false]);
});

test("a note that is damaged leaves the DHCP server as it is; one without its settings ends it", async () => {
  const [restart, reload] = ["systemctl restart portcullis.service", "networkctl reload"];
  const damaged = machine((file) => writeFileSync(file, "damaged"));
  await goBack(damaged.host, damaged.notes);
  expect([damaged.commands, existsSync(damaged.notes.portsBefore)]).toEqual([[restart, reload], false]);
  // This machine is no gateway, so it has no such file.
  const alone = machine((file) => keepBefore(file, [DHCP]));
  await goBack(alone.host, alone.notes);
  expect(alone.commands).toEqual([
    ...[restart, reload, "systemctl disable portcullis-dhcp.service"],
    "systemctl --no-block stop portcullis-dhcp.service",
  ]);
});

test("no port changes its side unless the service has closed the LAN", async () => {
  await expect(closeLan(folder)).rejects.toThrow("the service does not answer");
  const stopping = new AbortController();
  const wait = Promise.withResolvers<null>();
  let asked = 0;
  const network = () => {
    asked += 1;
    return asked === 1 ? Promise.resolve(null) : wait.promise;
  };
  answerOn(join(folder, "operator.sock"), { network }, stopping.signal);
  try {
    await closeLan(folder);
    expect(asked).toBe(1);
    await expect(closeLan(folder, AbortSignal.timeout(100))).rejects.toThrow();
    // One that is late for a first answer is not taken for one that is gone.
    await expect(closeLan(folder, AbortSignal.abort())).rejects.toThrow();
  } finally {
    wait.resolve(null);
    stopping.abort();
  }
});
