import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkedContents, contentsOf } from "../../src/backup/contents.ts";
import { opened, plain } from "../../src/backup/envelope.ts";
import { holdingsOf } from "../../src/backup/holdings.ts";
import { changesBy, restoreInto } from "../../src/backup/restore.ts";
import type { Change } from "../../src/base/saved.ts";
import { Store } from "../../src/store/store.ts";
import { slow } from "../fast.ts";
import { NOW } from "../servers/example.ts";
import { inDirectory } from "../tunnel/directory.ts";

/** What 0.1.0 has written, said and done: two databases with something of everything, and their backups. */
const GOLDEN = join(import.meta.dir, "golden");
const PASSPHRASE = "correct horse battery";

interface Restore {
  backup: string;
  into: string;
  permitted: boolean;
  changes: Change[];
  /** What the database then has, and which settings have changed; missing where the restore was refused. */
  settings?: Record<string, string>;
  devices?: string[];
  servers?: string[];
}
const RESTORES: Restore[] = await golden("restores.json").json();

function golden(name: string) {
  return Bun.file(join(GOLDEN, name));
}

function withDatabase(name: string, work: (store: Store) => void): Promise<void> {
  return inDirectory(async (directory) => {
    const packed = golden(`${name}.db.gz`);
    if (await packed.exists())
      writeFileSync(join(directory, "portcullis.db"), Bun.gunzipSync(await packed.bytes()));
    const store = Store.open(directory, NOW);
    try {
      work(store);
    } finally {
      store.close();
    }
  });
}

test.each(["full", "other"])("the backup of the %s database is the same, byte for byte", async (name) => {
  const text = await golden(`${name}.backup`).text();
  const { created } = JSON.parse(text).contents;
  await withDatabase(name, (store) => expect(plain(contentsOf(store, Date.parse(created)))).toBe(text));
});

slow.test("an encrypted backup has the same contents as a plain one", async () => {
  const contents = await opened(await golden("encrypted.backup").text(), async () => PASSPHRASE);
  const { created: _, ...other } = JSON.parse(await golden("other.backup").text()).contents;
  expect(contents).toMatchObject(other);
});

test.each(RESTORES)(
  "the $backup backup changes the same in the $into database ($permitted)",
  async (each) => {
    const given = await opened(await golden(`${each.backup}.backup`).text(), async () => PASSPHRASE);
    const contents = await checkedContents(given);
    const may = { replace: each.permitted, killswitchOff: each.permitted, direct: each.permitted };
    await withDatabase(each.into, (store) => {
      expect(changesBy(holdingsOf(store), contents, may)).toEqual(each.changes);
      if (each.settings === undefined)
        return expect(() => restoreInto(store, contents, may)).toThrow("pass --");
      const before = store.settings();
      restoreInto(store, contents, may);
      // This one counts the writes.
      expect<object>({ ...store.settings(), exits_written: "" }).toEqual({
        ...before,
        ...each.settings,
        exits_written: "",
      });
      expect(store.devices().map(({ id, name, exit }) => `${id} ${name} ${exit}`)).toEqual(
        each.devices ?? [],
      );
      const servers = store
        .servers()
        .map(({ provider, name, location }) => `${provider} ${name} ${location}`);
      expect(servers).toEqual(each.servers ?? []);
    });
  },
);
