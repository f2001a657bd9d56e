import { expect, test } from "bun:test";
import { databaseFinding, diskFinding, memoryFinding, versionFinding } from "../../src/checks/machine.ts";
import { SETUP_NOTES, versionNote } from "../../src/system/setup.ts";

const MB = 1_000_000;
const memory = (kibibytes: number | null) =>
  memoryFinding({
    read: async () => (kibibytes === null ? null : `MemTotal: 949444 kB\nMemAvailable:   ${kibibytes} kB\n`),
  });

test("a disk is judged by what is left of it", () => {
  const advice = "Make room: sudo apt-get clean, and sudo journalctl --vacuum-size=50M";
  expect(diskFinding(300 * MB)).toMatchObject({
    result: "ok",
    found: "300 MB free for the database",
    advice: null,
  });
  expect(diskFinding(199 * MB)).toMatchObject({
    result: "warning",
    found: "199 MB free for the database",
    advice,
  });
  expect(diskFinding(0)).toMatchObject({ result: "fault", found: "0 MB free for the database", advice });
  expect(diskFinding(null)).toMatchObject({
    result: "warning",
    found: "the free space is not known",
    advice: "Check that the folder of the database exists.",
  });
});

test("memory is judged by what the kernel says is available", async () => {
  const advice = "Stop programs that this machine does not need, or restart it.";
  expect(await memory(500_000)).toMatchObject({ result: "ok", found: "512 MB available", advice: null });
  expect(await memory(60_000)).toMatchObject({ result: "warning", found: "61 MB available", advice });
  expect(await memory(10_000)).toMatchObject({ result: "fault", found: "10 MB available", advice });
  expect(await memory(null)).toMatchObject({ result: "ok", found: "not known", advice: null });
});

test("a database is good, was damaged at the start, has lost the exits of devices, or is bad", () => {
  expect(databaseFinding(null, null, null).result).toBe("ok");
  expect(databaseFinding(null, "The database was damaged; it is kept as a.db.", null)).toMatchObject({
    result: "warning",
    found: "The database was damaged; it is kept as a.db.",
    advice: "Restore a backup if you have one: sudo portcullis restore. A worn SD card loses data.",
  });
  expect(databaseFinding(null, "before", "The exits were lost.")).toMatchObject({
    result: "fault",
    found: "The exits were lost.",
    advice:
      "Or restore a backup: sudo portcullis restore. See the devices: portcullis devices. A worn SD card loses data.",
  });
  expect(databaseFinding("The database is damaged.", "before", "lost")).toMatchObject({
    result: "fault",
    found: "The database is damaged.",
    advice: "Check whether the disk is full or read-only. A worn SD card becomes read-only: replace it.",
  });
});

/** Version 1.2.3 on a machine with these files. */
const versionOn = (files: Record<string, string>, replaced = false) =>
  versionFinding({ read: async (path) => files[path] ?? null }, "1.2.3", replaced);

test("a service that was not restarted after an upgrade is named", async () => {
  expect(await versionOn({})).toMatchObject({ result: "ok", found: "1.2.3", advice: null });
  expect(await versionOn({}, true)).toMatchObject({
    result: "warning",
    found: "1.2.3 still runs, but its file has been replaced",
    advice: "Start the new one: sudo portcullis install. The tunnel stays up meanwhile.",
  });
});

test("a gateway that another version has set up, or one that kept no note of it, is named", async () => {
  const gateway = { [SETUP_NOTES.sysctlsBefore]: "net/ipv4/ip_forward = 0\n" };
  const by = (version: string) => ({ ...gateway, [SETUP_NOTES.version]: versionNote(version) });
  const due = {
    result: "warning",
    found: "1.2.3 runs, but its setup was not completed",
    advice: "Complete it: sudo portcullis install. The tunnel stays up meanwhile.",
  } as const;
  expect(await versionOn(gateway)).toMatchObject(due);
  expect(await versionOn(by("1.2.2"))).toMatchObject(due);
  expect(await versionOn(by("1.2.33"))).toMatchObject(due);
  expect((await versionOn(by("1.2.3"))).result).toBe("ok");
});
