import { expect, test } from "bun:test";
import { Tokens } from "../../src/access/tokens.ts";
import { checkedContents, contentsOf } from "../../src/backup/contents.ts";
import { restoreInto } from "../../src/backup/restore.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { redacted } from "../../src/base/secrets.ts";
import { Store } from "../../src/store/store.ts";
import { inDirectory } from "../tunnel/directory.ts";

const NOW = Date.parse("2026-01-02T03:04:05.678Z");

function storeWith(settings: Record<string, string> = {}) {
  const map = new Map(Object.entries(settings));
  return {
    read: (key: string) => map.get(key) ?? null,
    write: (key: string, text: string) => map.set(key, text),
  };
}

const CLOCK = { now: () => NOW, monotonic: () => 0, sleep: async () => {} };

const tokensOn = (
  store: Pick<ReturnType<typeof storeWith>, "read"> & { write: (key: string, text: string) => unknown },
) =>
  new Tokens(
    { read: store.read, write: (key, text) => void store.write(key, text), atomically: (work) => work() },
    CLOCK,
  );

test("a token is shown once, and found again after a restart by its hash alone", async () => {
  const store = storeWith();
  const tokens = tokensOn(store);
  const made = await tokens.add("phone", true);
  expect(made).toEqual({
    name: "phone",
    read_only: true,
    created_at: "2026-01-02T03:04:05.678Z",
    owner: false,
    token: expect.stringMatching(/^portcullis_[0-9a-hjkmnp-tv-z]{26}$/),
  });
  expect(store.read("tokens")).not.toContain(made.token.slice("portcullis_".length));
  const { token, ...shown } = made;
  const later = tokensOn(store);
  expect(later.list()).toEqual([shown]);
  expect(later.find(token)).toMatchObject({ name: "phone", readOnly: true });
});

test("nothing but the very token is found", async () => {
  const tokens = tokensOn(storeWith());
  const { token } = await tokens.add("phone", false);
  const others = [
    "",
    "portcullis_",
    token.slice(0, -1),
    `${token}0`,
    token.toUpperCase(),
    ` ${token}`,
    "\0".repeat(9_999),
  ];
  for (const text of others) expect(tokens.find(text)).toBeNull();
});

test("no two tokens are the same, and messages show none of them", async () => {
  const tokens = tokensOn(storeWith());
  const texts = await Promise.all(
    Array.from({ length: 100 }, async (_, number) => (await tokens.add(`client ${number}`, false)).token),
  );
  expect(new Set([...texts, tokens.own]).size).toBe(101);
  for (const text of texts) expect(redacted(`GET /x?token=${text}&more`)).toBe("GET /x?token=(a token)&more");
  await expect(tokens.add("one more", false)).rejects.toThrow(
    "there are 100 tokens, the maximum; remove one first",
  );
});

test("a token that is removed is told of, and not valid any more; its name can be used again", async () => {
  const tokens = tokensOn(storeWith());
  const removed: string[] = [];
  tokens.onRemoved((id) => removed.push(id));
  const { token } = await tokens.add("phone", false);
  const id = tokens.find(token)?.id ?? "";
  expect(tokens.has(id)).toBe(true);
  await tokens.remove("phone");
  expect([removed, tokens.has(id), tokens.find(token), tokens.list()]).toEqual([[id], false, null, []]);
  expect((await tokens.add("phone", false)).token).not.toBe(token);
});

test("a token that the disk refuses is not made, and one that is removed is not valid even if that cannot be saved", async () => {
  const store = storeWith();
  let isFull = false;
  const write = (key: string, text: string) => {
    if (isFull)
      throw new GatewayError("storage_full", "The database could not be written: the disk is full.");
    store.write(key, text);
  };
  const tokens = tokensOn({ ...store, write });
  const { token } = await tokens.add("phone", false);
  const removed: string[] = [];
  tokens.onRemoved((id) => removed.push(id));
  isFull = true;
  await expect(tokens.add("tablet", false)).rejects.toThrow("the disk is full");
  for (const _ of ["first", "again"])
    await expect(tokens.remove("phone")).rejects.toThrow(
      new GatewayError(
        "storage_full",
        "The database could not be written: the disk is full. The token is not valid any more, but would be after a restart: repeat the command when the database can be written.",
      ),
    );
  expect([tokens.find(token), tokens.list()]).toEqual([null, []]);
  expect(tokensOn(store).find(token)).not.toBeNull();
  isFull = false;
  await tokens.remove("phone");
  expect([tokensOn(store).find(token), new Set(removed).size]).toEqual([null, 1]);
  await expect(tokens.remove("phone")).rejects.toThrow("there is no token phone");
});

test.each([
  ["phone", "name: phone exists; remove it first, or choose another name"],
  ["", "name: must have 1 to 64 characters"],
  ["a\nb", "name: contains a control character"],
  [`portcullis_${"0".repeat(26)}`, "name: looks like a secret; choose one such as phone"],
])("the name %j is refused", async (name, message) => {
  const tokens = tokensOn(storeWith());
  await tokens.add("phone", false);
  await expect(tokens.add(name, false)).rejects.toThrow(message);
});

test("a token that was removed while the disk was full is removed from it once there is room", async () => {
  const store = storeWith();
  const end = new AbortController();
  let isFull = false;
  const write = (key: string, text: string) => {
    if (isFull) throw new Error("the disk is full");
    store.write(key, text);
  };
  const sleep = async () => {
    if (isFull) isFull = false;
    else end.abort();
  };
  const whole = { read: store.read, write, atomically: (work: () => void) => work() };
  const tokens = new Tokens(whole, { ...CLOCK, sleep });
  const { token } = await tokens.add("phone", false);
  isFull = true;
  await expect(tokens.remove("phone")).rejects.toThrow("but would be after a restart");
  await tokens.watch(end.signal);
  expect(tokensOn(store).find(token)).toBeNull();
});

test("removing what is not there names the command that lists the tokens", async () => {
  await expect(tokensOn(storeWith()).remove("phone")).rejects.toThrow(
    "there is no token phone: see sudo portcullis token list",
  );
});

test.each(["", "{", "{}", "[1]", '[{"name":"phone","hash":"","read_only":false,"created_at":""}]'])(
  "if what is stored is damaged (%s), no token is valid, and that is told",
  async (text) => {
    const tokens = tokensOn(storeWith({ tokens: text }));
    expect(tokens.isDamaged).toBe(true);
    expect(tokens.list()).toEqual([]);
    expect(tokens.find("")).toBeNull();
    expect(tokens.find((await tokens.add("phone", false)).token)).not.toBeNull();
  },
);

test("a backup has no tokens, and none can bring one back", async () => {
  await inDirectory(async (directory) => {
    const store = Store.open(directory, NOW);
    await new Tokens(store, CLOCK).add("phone", false);
    const contents = contentsOf(store, NOW);
    expect(JSON.stringify(contents)).not.toContain("phone");
    const settings = { tokens: store.read("tokens") ?? "" };
    const forged = checkedContents({ ...contents, settings });
    expect(await forged.catch((error) => error.message)).toContain('the setting "tokens" is invalid');
    restoreInto(store, contents, { replace: true, killswitchOff: false, direct: false });
    expect(new Tokens(store, CLOCK).list()).toHaveLength(1);
    store.close();
  });
});
