import { afterAll, beforeAll, expect, test } from "bun:test";
import { ask, claimable, claimIt, EAGER, firstStart, OWNER } from "./flashed-page.ts";
import {
  clean,
  closeStage,
  downloads,
  guest,
  healthy,
  image,
  lab,
  loggedIn,
  note,
  older,
  openStage,
  PATIENCE_MS,
  patiently,
  seconds,
  tunnelCarries,
} from "./stage.ts";
import { BROKEN, NEWER, OLDER, RELEASE } from "./way.ts";

beforeAll(openStage, PATIENCE_MS);
afterAll(closeStage, PATIENCE_MS);

test(
  "a flashed gateway has an owner, a tunnel, and a program that trusts the test's releases",
  async () => {
    await firstStart();
    await claimable();
    // At the second start the system has all of the card.
    await guest.powerOff();
    guest.powerOn(undefined, EAGER);
    await claimable();
    await claimIt();
    await loggedIn();
    const copy = [
      "scp",
      "-i",
      image.key,
      "-o",
      "StrictHostKeyChecking=no",
      "-o",
      "UserKnownHostsFile=/dev/null",
    ];
    const files = [downloads.certificate, older];
    const { code, stderr } = await lab.exec(lab.namespaces.client, [
      ...copy,
      ...files,
      `root@${guest.address}:`,
    ]);
    expect([code, stderr]).toEqual([0, expect.anything()]);
    await guest.shell("systemctl set-environment NODE_EXTRA_CA_CERTS=/root/certificate.pem");
    const said = await guest.shell(`dpkg --install /root/portcullis_${OLDER}_*.deb 2>&1`);
    expect(said).not.toContain("is not complete");
    await healthy();
    const [{ customBody }] = lab.sandbox.servers;
    expect(await ask("POST", "custom/add", customBody)).toEqual({ success: true });
    expect(await ask("POST", "provider/custom", {})).toMatchObject({ success: true });
    await guest.until("the tunnel", async () =>
      Bun.deepEquals(await ask("POST", "connect", { server: customBody.name }), { success: true }),
    );
    await tunnelCarries();
  },
  PATIENCE_MS,
);

test(
  "remote access, direct and the kill switch are the owner's, and what opens asks for the passphrase",
  async () => {
    const { passphrase } = OWNER;
    expect(await ask("PUT", "owner/remote", { on: true })).toMatchObject({ on: true });
    expect(await ask("PUT", "owner/remote", { on: false })).toMatchObject({ on: false });
    for (const [path, body] of [
      ["owner/direct", { allowed: true }],
      ["owner/killswitch", { on: false }],
    ] as const) {
      expect((await ask("PUT", path, body)).error).toContain("passphrase");
      expect((await ask("PUT", path, { ...body, passphrase: "another one" })).error).toContain("passphrase");
    }
    expect(await guest.shell("portcullis killswitch status")).toContain("The kill switch is in place");
    expect(await ask("PUT", "owner/direct", { allowed: true, passphrase })).toEqual({ success: true });
    expect(await ask("PUT", "owner/direct", { allowed: false })).toEqual({ success: true });
    expect(await ask("PUT", "owner/killswitch", { on: false, passphrase })).toEqual({ success: true });
    expect((await guest.ssh("portcullis killswitch status")).stdout).not.toContain("is in place");
    expect(await ask("PUT", "owner/killswitch", { on: true })).toEqual({ success: true });
    expect(await guest.shell("portcullis killswitch status")).toContain("The kill switch is in place");
    const sniffer = await lab.sniff();
    await tunnelCarries();
    expect(await clean(sniffer)).toEqual([]);
    const acts = (await told()).map(({ args }) => args.what);
    expect(acts).toEqual([
      ...["remote_on", "remote_off", "direct_on", "direct_off", "killswitch_off", "killswitch_on"],
    ]);
  },
  PATIENCE_MS,
);

test(
  "settings are changed by root's own setup: the service restarts with them, and nothing leaks; bad ones change nothing",
  async () => {
    const sniffer = await lab.sniff();
    const environment = () => guest.shell("cat /etc/portcullis/portcullis.env");
    const before = await environment();
    // With one cable the address comes from the home router.
    expect((await ask("PUT", "owner/settings", { dhcp: "on" })).error).toContain("dhcp");
    expect((await ask("PUT", "owner/settings", { mqtt: "nonsense" })).error).toContain("mqtt");
    expect(await environment()).toBe(before);
    const pid = await mainPid();
    const broker = { mqtt: "mqtt://portcullis@192.168.77.10", mqtt_password: "very secret" };
    expect(await ask("PUT", "owner/settings", broker)).toEqual({ success: true });
    await guest.until("another process", async () => ![pid, "0\n"].includes(await mainPid()));
    await healthy();
    expect(await environment()).toContain("mqtt://portcullis@192.168.77.10");
    expect(await guest.shell("journalctl --no-pager; ps -e -o args")).not.toContain("very secret");
    await changed();
    expect(await ask("PUT", "owner/settings", { mqtt: "" })).toEqual({ success: true });
    await changed();
    expect(await environment()).toContain("PORTCULLIS_MQTT=\n");
    await healthy();
    expect(await guest.shell("grep -rls 'very secret' /etc/portcullis /var/lib/portcullis || true")).toBe("");
    await tunnelCarries();
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "a release with a foreign signature is refused; a newer one is shown, and installed by the button: nothing leaks",
  async () => {
    const sniffer = await lab.sniff();
    const forged = await ask("POST", "owner/update", { release: `${RELEASE}forged/`, install: true });
    expect(forged.error).toContain("SHA256SUMS is not signed by Portcullis's release key");
    expect(await ask("POST", "owner/update", { release: RELEASE })).toMatchObject({
      ...{ current: OLDER, offered: NEWER, newer: true, notes: expect.stringContaining("- Newest") },
    });
    expect(await installed()).toBe(OLDER);
    const begun = performance.now();
    expect(await ask("POST", "owner/update", { release: RELEASE, install: true })).toMatchObject({
      newer: true,
    });
    await changed();
    note("upgrade by the button", seconds(performance.now() - begun));
    expect(await installed()).toBe(NEWER);
    await healthy();
    expect(await running()).toBe(`portcullis ${NEWER}\n`);
    await tunnelCarries();
    expect((await told()).at(-1)?.args).toMatchObject({ what: "update", release: RELEASE });
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "a newer release whose service does not answer is replaced by the former one within two minutes, and nothing leaks",
  async () => {
    const sniffer = await lab.sniff();
    const begun = performance.now();
    const release = `${RELEASE}broken/`;
    expect(await ask("POST", "owner/update", { release, install: true })).toMatchObject({ offered: BROKEN });
    await guest.until("the broken version", async () => (await installed()) === BROKEN);
    await changed();
    note("going back from a broken version", seconds(performance.now() - begun));
    expect(await installed()).toBe(NEWER);
    expect(await guest.shell("journalctl --no-pager -u portcullis-change")).toContain(
      `has ended in a service that does not answer, and this machine is back at ${NEWER}`,
    );
    await healthy();
    expect(await running()).toBe(`portcullis ${NEWER}\n`);
    expect(await guest.shell("dpkg --audit; ls --ignore 'systemd-private-*' /var/tmp")).not.toContain(
      "portcullis",
    );
    expect(await guest.shell("portcullis killswitch status")).toContain("The kill switch is in place");
    await tunnelCarries();
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

/** Returns once the change that a button has begun is over. */
function changed(): Promise<number> {
  const state = "systemctl show -P ActiveState portcullis-change.service";
  return guest.until("the change", async () => /^(inactive|failed)/.test((await guest.ssh(state)).stdout));
}

async function installed(): Promise<string> {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-query(1) fills it in.
  return (await guest.ssh("dpkg-query -Wf '${Version}' portcullis")).stdout;
}

function running(): Promise<string> {
  return patiently('"/proc/$(systemctl show -P MainPID portcullis)/exe" --version');
}

async function mainPid(): Promise<string> {
  return (await guest.ssh("systemctl show -P MainPID portcullis")).stdout;
}

/** What owners have done, the latest last. */
async function told(): Promise<{ args: { what: string; release?: string } }[]> {
  const { events } = await ask("GET", "events");
  return events.filter(({ code }: { code?: string }) => code === "owner_acted");
}
