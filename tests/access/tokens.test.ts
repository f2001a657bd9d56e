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

const tokensOn = (
  store: Pick<ReturnType<typeof storeWith>, "read"> & { write: (key: string, text: string) => unknown },
) => new Tokens({ read: store.read, write: (key, text) => void store.write(key, text) }, { now: () => NOW });

test("a token is shown once, and found again after a restart by its hash alone", () => {
  const store = storeWith();
  const tokens = tokensOn(store);
  const made = tokens.add("phone", true);
  expect(made).toEqual({
    name: "phone",
    read_only: true,
    created_at: "2026-01-02T03:04:05.678Z",
    token: expect.stringMatching(/^portcullis_[0-9a-hjkmnp-tv-z]{26}$/),
  });
  expect(store.read("tokens")).not.toContain(made.token.slice("portcullis_".length));
  const { token, ...shown } = made;
  const later = tokensOn(store);
  expect(later.list()).toEqual([shown]);
  expect(later.find(token)).toMatchObject({ name: "phone", readOnly: true });
});

test("nothing but the very token is found", () => {
  const tokens = tokensOn(storeWith());
  const { token } = tokens.add("phone", false);
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

test("no two tokens are the same, and messages show none of them", () => {
  const tokens = tokensOn(storeWith());
  const texts = Array.from({ length: 100 }, (_, number) => tokens.add(`client ${number}`, false).token);
  expect(new Set([...texts, tokens.own]).size).toBe(101);
  for (const text of texts) expect(redacted(`GET /x?token=${text}&more`)).toBe("GET /x?token=(a token)&more");
  expect(() => tokens.add("one more", false)).toThrow("there are 100 tokens already; remove one first");
});

test("a token that is removed is told of, and not valid any more; its name can be used again", () => {
  const tokens = tokensOn(storeWith());
  const removed: string[] = [];
  tokens.onRemoved((id) => removed.push(id));
  const { token } = tokens.add("phone", false);
  const id = tokens.find(token)?.id ?? "";
  expect(tokens.has(id)).toBe(true);
  tokens.remove("phone");
  expect([removed, tokens.has(id), tokens.find(token), tokens.list()]).toEqual([[id], false, null, []]);
  expect(tokens.add("phone", false).token).not.toBe(token);
});

test("a token that the disk refuses is not made, and one that is removed is not valid even if that cannot be saved", () => {
  const store = storeWith();
  let isFull = false;
  const write = (key: string, text: string) => {
    if (isFull)
      throw new GatewayError("storage_full", "The database could not be written: the disk is full.");
    store.write(key, text);
  };
  const tokens = tokensOn({ ...store, write });
  const { token } = tokens.add("phone", false);
  const removed: string[] = [];
  tokens.onRemoved((id) => removed.push(id));
  isFull = true;
  expect(() => tokens.add("tablet", false)).toThrow("the disk is full");
  for (const _ of ["first", "again"])
    expect(() => tokens.remove("phone")).toThrow(
      new GatewayError(
        "storage_full",
        "The database could not be written: the disk is full. The token is not valid any more, but would be after a restart: repeat the command when the database can be written.",
      ),
    );
  expect([tokens.find(token), tokens.list()]).toEqual([null, []]);
  expect(tokensOn(store).find(token)).not.toBeNull();
  isFull = false;
  tokens.remove("phone");
  expect([tokensOn(store).find(token), new Set(removed).size]).toEqual([null, 1]);
  expect(() => tokens.remove("phone")).toThrow("there is no token phone");
});

test.each([
  ["phone", "name: phone exists; remove it first, or choose another name"],
  ["", "name: must have 1 to 64 characters"],
  ["a\nb", "name: contains a control character"],
  [`portcullis_${"0".repeat(26)}`, "name: looks like a secret; choose one such as phone"],
])("the name %j is refused", (name, message) => {
  const tokens = tokensOn(storeWith());
  tokens.add("phone", false);
  expect(() => tokens.add(name, false)).toThrow(message);
});

test("removing what is not there names the command that lists the tokens", () => {
  expect(() => tokensOn(storeWith()).remove("phone")).toThrow(
    "there is no token phone: see sudo portcullis token list",
  );
});

test.each(["", "{", "{}", "[1]", '[{"name":"phone","hash":"","read_only":false,"created_at":""}]'])(
  "if what is stored is damaged (%s), no token is valid, and that is told",
  (text) => {
    const tokens = tokensOn(storeWith({ tokens: text }));
    expect(tokens.alert).toBe("The stored tokens could not be read, and none of them is valid.");
    expect(tokens.list()).toEqual([]);
    expect(tokens.find("")).toBeNull();
    expect(tokens.find(tokens.add("phone", false).token)).not.toBeNull();
  },
);

test("a backup has no tokens, and none can bring one back", async () => {
  await inDirectory(async (directory) => {
    const store = Store.open(directory, NOW);
    new Tokens(store, { now: () => NOW }).add("phone", false);
    const contents = contentsOf(store, NOW);
    expect(JSON.stringify(contents)).not.toContain("phone");
    const settings = { tokens: store.read("tokens") ?? "" };
    const forged = checkedContents({ ...contents, settings });
    expect(await forged.catch((error) => error.message)).toContain('the setting "tokens" is invalid');
    restoreInto(store, contents, { replace: true, killswitchOff: false, direct: false });
    expect(new Tokens(store, { now: () => NOW }).list()).toHaveLength(1);
    store.close();
  });
});
