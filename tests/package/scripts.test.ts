import { expect } from "bun:test";
import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { PATHS } from "../../src/install/paths.ts";
import { needsRoot } from "../fast.ts";
import { PackagedMachine } from "./machine.ts";

const SCRIPTS = ["postinst", "prerm", "postrm"].map((name) => join(import.meta.dir, "../../debian", name));
const LINK = "/etc/systemd/system/multi-user.target.wants/portcullis.service";
const UNIT_BY_HAND = "/etc/systemd/system/portcullis.service";
const DONE = { code: 0, said: "", told: [] };

/** Like `setup`, or like `install` if by hand. */
function arm(machine: PackagedMachine, unit = "/usr/lib/systemd/system/portcullis.service"): void {
  machine.put(PATHS.sysctlsBefore);
  machine.put(PATHS.environment);
  machine.put(join(dirname(LINK), ".keep"));
  symlinkSync(unit, join(machine.root, LINK));
  if (unit !== UNIT_BY_HAND) return;
  machine.put(unit, "[Service]\nExecStart=/usr/local/bin/portcullis serve\n");
  machine.put("/usr/local/bin/portcullis");
}

needsRoot.test("the maintainer scripts are sound POSIX shell (shellcheck)", () => {
  const { stdout, stderr } = Bun.spawnSync(["shellcheck", ...SCRIPTS]);
  expect(`${stdout}${stderr}`).toBe("");
});

needsRoot.test("so are the project's own, with what they source", () => {
  const folder = join(import.meta.dir, "../../scripts");
  const scripts = readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((file) => readFileSync(file, "utf8").startsWith("#!/bin/sh\n"));
  expect(scripts.length).toBeGreaterThan(10);
  const { stdout, stderr } = Bun.spawnSync(["shellcheck", "-x", "-P", folder, ...scripts]);
  expect(`${stdout}${stderr}`).toBe("");
});

needsRoot.test(
  "on a machine that is no gateway nothing is started, and one line says what to do next",
  () => {
    using machine = new PackagedMachine({ systemd: true });
    const outcome = {
      code: 0,
      said: "Portcullis is installed, but not in use yet. To make this machine a gateway: sudo portcullis setup\n",
      told: ["systemctl daemon-reload"],
    };
    expect(machine.run("postinst", "configure", "")).toEqual(outcome);
    // After an upgrade, and after a removal that kept the settings.
    expect(machine.run("postinst", "configure", "0.1.0")).toEqual(outcome);
  },
);

needsRoot.test(
  "an upgrade of a gateway sets it up again; if that is refused, apt goes on and the way is named",
  () => {
    using machine = new PackagedMachine({ systemd: true });
    arm(machine);
    const told = ["systemctl daemon-reload", "portcullis setup --yes"];
    expect(machine.run("postinst", "configure", "0.1.0")).toEqual({ ...DONE, told });
    machine.answer("/usr/bin/portcullis", "echo 'portcullis: the modules are gone' >&2; exit 1");
    expect(machine.run("postinst", "configure", "0.1.0")).toEqual({
      code: 0,
      said: "portcullis: the modules are gone\nportcullis: the upgrade is not complete, for the reason above; the kill switch is as it was. To complete it: sudo portcullis setup\n",
      told,
    });
  },
);

needsRoot.test(
  "the removal of a gateway restores the machine first; if that fails, the program stays",
  () => {
    using machine = new PackagedMachine({ systemd: true });
    arm(machine);
    const told = ["portcullis uninstall --yes --keep-state"];
    expect(machine.run("prerm", "remove")).toEqual({ ...DONE, told });
    machine.answer("/usr/bin/portcullis", "exit 1");
    expect(machine.run("prerm", "remove")).toEqual({ code: 1, said: "", told });
  },
);

needsRoot.test("a removal restores a machine whose setup was interrupted too", () => {
  using machine = new PackagedMachine({ systemd: true });
  machine.put(PATHS.sysctlsBefore);
  expect(machine.run("prerm", "remove").told).toEqual(["portcullis uninstall --yes --keep-state"]);
});

needsRoot.test("the removal from a machine that is no gateway, and any upgrade, touch no network", () => {
  using machine = new PackagedMachine({ systemd: true });
  machine.put(PATHS.environment);
  expect(machine.run("prerm", "remove")).toEqual(DONE);
  arm(machine);
  expect(machine.run("prerm", "upgrade", "0.2.0")).toEqual(DONE);
  expect(machine.run("postrm", "upgrade", "0.2.0")).toEqual(DONE);
  expect(machine.run("postinst", "abort-upgrade", "0.2.0")).toEqual(DONE);
});

needsRoot.test(
  "an installation by hand stays as it is: through installation, upgrade, removal and purge",
  () => {
    using machine = new PackagedMachine({ systemd: true });
    arm(machine, UNIT_BY_HAND);
    const taken = {
      code: 0,
      said: "Portcullis was installed by hand, and that installation stays in use. To use the package instead: sudo /usr/bin/portcullis setup\n",
      told: ["systemctl daemon-reload"],
    };
    expect(machine.run("postinst", "configure", "")).toEqual(taken);
    expect(machine.run("postinst", "configure", "0.1.0")).toEqual(taken);
    expect(machine.run("prerm", "remove")).toEqual(DONE);
    expect(machine.run("postrm", "remove")).toEqual({ ...DONE, told: ["systemctl daemon-reload"] });
    expect(machine.run("postrm", "purge")).toEqual(DONE);
    expect(machine.has(PATHS.environment)).toBe(true);
  },
);

needsRoot.test("a purge removes settings, state and cache", () => {
  using machine = new PackagedMachine({ systemd: true });
  const { environment, managedKey, mqttPassword, state, cache, dhcpConfig, dhcpState } = PATHS;
  const files: string[] = [environment, managedKey, mqttPassword, dhcpConfig];
  files.push(join(state, "portcullis.db"), join(cache, "dhcp-hosts"));
  files.push("/var/lib/private/portcullis-dhcp/leases");
  for (const path of files) machine.put(path);
  symlinkSync("private/portcullis-dhcp", join(machine.root, dhcpState));
  machine.put("/etc/other");
  expect(machine.run("postrm", "remove").code).toBe(0);
  expect(files.filter((path) => !machine.has(path))).toEqual([]);
  expect(machine.run("postrm", "purge")).toEqual(DONE);
  const gone = [...files.map((path) => (path === dhcpConfig ? path : dirname(path))), dhcpState];
  expect(gone.filter((path) => machine.has(path))).toEqual([]);
  expect(machine.has("/etc/other")).toBe(true);
});

needsRoot.test.each([false, true])(
  "in a chroot nothing is started, and a gateway is not taken apart; /run is of the machine around it: %p",
  (systemd) => {
    using machine = new PackagedMachine({ systemd });
    machine.isChroot(true);
    expect(machine.run("postinst", "configure", "")).toMatchObject({ code: 0, told: [] });
    expect(machine.run("prerm", "remove")).toEqual(DONE);
    // systemctl itself does nothing in a chroot.
    if (!systemd) expect(machine.run("postrm", "remove")).toEqual(DONE);
    arm(machine);
    expect(machine.run("postinst", "configure", "0.1.0")).toEqual(DONE);
    expect(machine.run("prerm", "remove")).toEqual({
      code: 1,
      said: "portcullis: this system is a gateway but does not run; start it, and remove the package then\n",
      told: [],
    });
  },
);

needsRoot.test(
  "a unit of the package that a person has edited is not taken for an installation by hand",
  () => {
    using machine = new PackagedMachine({ systemd: true });
    arm(machine);
    machine.put(UNIT_BY_HAND, "[Service]\nExecStart=/usr/bin/portcullis serve\n");
    expect(machine.run("postinst", "configure", "0.1.0").told).toContain("portcullis setup --yes");
    expect(machine.run("prerm", "remove").told).toEqual(["portcullis uninstall --yes --keep-state"]);
  },
);
