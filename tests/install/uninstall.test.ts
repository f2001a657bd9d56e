import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closingWords, takeBack } from "../../src/install/uninstall.ts";
import { FakeHost } from "../fake/host.ts";
import { ALL_BY_HAND } from "./example.ts";

const root = mkdtempSync(join(tmpdir(), "portcullis-uninstall-"));
afterAll(() => rmSync(root, { recursive: true }));

/** A kernel with the tunnel's link until the service stops; if `stubborn`, the table cannot be removed. */
class Machine extends FakeHost {
  readonly said: string[] = [];
  ended = false;
  constructor(private readonly stubborn: boolean) {
    super();
  }

  override async run(argv: readonly string[]): Promise<string> {
    const words = argv.join(" ");
    this.said.push(words);
    if (words.startsWith("systemctl disable")) this.ended = true;
    if (words === "ip -j link show") return JSON.stringify(this.ended ? [] : [{ ifname: "portcullis0" }]);
    if (words.startsWith("ip -j")) return "[]";
    if (words.startsWith("ip link del") || words.startsWith("nft delete")) throw new Error("no such thing");
    if (words.startsWith("nft -s -n list table") && !this.stubborn) throw new Error("no such table");
    if (words.startsWith("nft -s list table")) throw new Error("no such table");
    return "";
  }
}

function takenBack(machine: Machine): Promise<void> {
  const remains = {
    units: ["portcullis.service"],
    network: ["portcullis0"],
    addresses: [],
    tables: ["inet portcullis"],
    rules: [],
    queues: [],
    routes: [],
  };
  const removal = {
    machine: { sysctlsBefore: null },
    remains,
    forwarders: [],
    keepState: true,
    byHand: ALL_BY_HAND,
  };
  return takeBack(removal, "portcullis", { host: machine, root, say: () => {} });
}

test("what to remove is determined after the service has ended, because it removes some of it", async () => {
  const machine = new Machine(false);
  await takenBack(machine);
  expect(machine.said[0]).toBe("systemctl disable --now portcullis.service");
  expect(machine.said).not.toContain("ip link del dev portcullis0");
});

test("what cannot be removed is named, with what to do next, and no file is removed before it", async () => {
  const machine = new Machine(true);
  await expect(takenBack(machine)).rejects.toThrow(
    "not removed: table inet portcullis, table arp portcullis; completed steps stay; run it again: sudo portcullis uninstall",
  );
  expect(machine.said).not.toContain("systemctl daemon-reload");
});

test("after the uninstallation of a packaged gateway, the program stays until apt removes it", () => {
  expect(closingWords(false, true)).toBe(
    "Portcullis is uninstalled; servers, keys and settings are kept in /var/lib/portcullis and /etc/portcullis.\nThe program stays; to remove it: sudo apt remove portcullis",
  );
  expect(closingWords(true, false)).toBe("Portcullis is uninstalled.");
});
