import { afterAll, expect, test } from "bun:test";
import type { Message } from "../../src/notifications/message.ts";
import { parseTarget, requestFor } from "../../src/notifications/target.ts";
import { ask } from "../../src/system/https.ts";
import { startGotify, startNtfy, startWebhook } from "./services.ts";

const services = { ntfy: startNtfy(), gotify: startGotify(), webhook: startWebhook() };
afterAll(() => Promise.all(Object.values(services).map((service) => service.stop())));

const MESSAGE: Message = {
  title: "Portcullis on pi",
  text: "The main tunnel was down from 3:10 to 3:14.\nÜber all – 🙂",
  level: "quiet",
  at: "2026-01-02T03:14:00.000Z",
  events: [
    {
      type: "outage",
      payload: {
        tunnel: "main",
        from: "2026-01-02T03:10:00.000Z",
        to: "2026-01-02T03:14:00.000Z",
        end: "connected",
        reason: null,
      },
    },
  ],
};

async function post(address: string, message = MESSAGE): Promise<number> {
  const request = requestFor(parseTarget(address), message);
  return (await ask({ ...request, addresses: ["127.0.0.1"] })).status;
}

test("ntfy gets title, text and priority in its own form, with the token of the address", async () => {
  const { ntfy } = services;
  expect(await post(`ntfy://:tk_secret@${ntfy.url}/Home-1?scheme=http`)).toBe(200);
  expect(await post(`ntfy://tk_secret@${ntfy.url}/Home-1?disableTLS=yes`)).toBe(200);
  const { title, text: message } = MESSAGE;
  expect(ntfy.taken).toEqual(Array(2).fill({ topic: "Home-1", title, message, priority: 2 }));
  expect(await post(`ntfy://:wrong@${ntfy.url}/Home-1?scheme=http`)).toBe(401);
});

test("gotify gets title, text and priority in its own form, by either form of its address", async () => {
  const { gotify } = services;
  expect(await post(`gotify://${gotify.url}/AbCdEf.12345?disableTLS=yes`)).toBe(200);
  expect(await post(`http://${gotify.url}/message?token=AbCdEf.12345`, { ...MESSAGE, level: "urgent" })).toBe(
    200,
  );
  const { title, text: message } = MESSAGE;
  expect(gotify.taken).toEqual([
    { title, message, priority: 2 },
    { title, message, priority: 8 },
  ]);
  expect(await post(`gotify://${gotify.url}/other?disableTLS=yes`)).toBe(401);
});

test("any other address gets the event as JSON, and its user and password as authorization", async () => {
  const { webhook } = services;
  expect(await post(`http://me:p%40ss@${webhook.url}/hook?key=1`)).toBe(200);
  expect(webhook.taken).toEqual([
    {
      path: "/hook?key=1",
      authorization: `Basic ${btoa("me:p@ss")}`,
      title: MESSAGE.title,
      message: MESSAGE.text,
      level: "quiet",
      at: MESSAGE.at,
      events: MESSAGE.events,
    },
  ]);
});

const shown = (address: string) => {
  const { kind, name, url } = parseTarget(address);
  return { kind, name, url };
};

test.each([
  ["ntfy://ntfy.sh/topic", "ntfy", "ntfy at ntfy.sh", "https://ntfy.sh/"],
  [
    "ntfys://push.example.com:8443/topic",
    "ntfy",
    "ntfy at push.example.com:8443",
    "https://push.example.com:8443/",
  ],
  ["ntfy://My_Topic", "ntfy", "ntfy at ntfy.sh", "https://ntfy.sh/"],
  ["https://ntfy.sh/My_Topic", "ntfy", "ntfy at ntfy.sh", "https://ntfy.sh/"],
  ["ntfy://[fd00::5]:80/t?scheme=http", "ntfy", "ntfy at [fd00::5]", "http://[fd00::5]/"],
  ["gotify://example.com/token", "gotify", "gotify at example.com", "https://example.com/message"],
  [
    "gotifys://example.com/push/token/",
    "gotify",
    "gotify at example.com",
    "https://example.com/push/message",
  ],
  ["https://example.com/message?token=T", "gotify", "gotify at example.com", "https://example.com/message"],
  [
    "https://example.com/hooks/SECRET",
    "webhook",
    "webhook at example.com",
    "https://example.com/hooks/SECRET",
  ],
  ["http://192.168.1.5:8123/api", "webhook", "webhook at 192.168.1.5:8123", "http://192.168.1.5:8123/api"],
] as const)("%s is %s", (address, kind, name, url) => {
  expect(shown(address)).toEqual({ kind, name, url });
});

test("a topic keeps its case, and the address of the topic alone is that of the public server", () => {
  for (const address of ["ntfy://My_Topic", "https://ntfy.sh/My_Topic", "ntfy://ntfy.sh/My_Topic"])
    expect(parseTarget(address)).toMatchObject({ kind: "ntfy", topic: "My_Topic", authorization: null });
});

const PLAIN = "plain http is for an IP address of the LAN; use https";
test.each([
  ["http://example.com/SECRET", PLAIN],
  ["http://nas.local/SECRET", PLAIN],
  ["http://203.0.113.5/SECRET", PLAIN],
  ["http://[2001:db8::5]/SECRET", PLAIN],
  ["http://2130706433.example/SECRET", PLAIN],
  ["gotify://example.com/SECRET?disableTLS=yes", PLAIN],
  ["ntfy://example.com/SECRET?scheme=http", PLAIN],
  ["ntfy://example.com/", "ntfy needs a topic: ntfy://host/topic"],
  ["ntfy://example.com/SECRET SECRET", "it must begin with ntfy://, gotify://, https:// or http://"],
  ["ntfy://example.com/SECRET.dot", "ntfy needs a topic: ntfy://host/topic"],
  [
    "ntfy://example.com/SECRET?priority=high",
    "only scheme=http or disableTLS=yes may follow the question mark",
  ],
  ["gotify://example.com", "gotify needs the token of an application: gotify://host/token"],
  ["gotify://exa%ZZmple/SECRET", "it is not a valid address"],
  ["gotify://example.com/SECRET%ff", "its percent-encoding is wrong"],
  ["ntfy://:SECRET%0d%0aX-Evil:1@example.com/t", "its token has characters that no token has"],
  ["file:///etc/SECRET", "it must begin with ntfy://, gotify://, https:// or http://"],
  ["https://", "it must begin with ntfy://, gotify://, https:// or http://"],
])("%s is refused, and the message does not quote it", (address, message) => {
  expect(() => parseTarget(address)).toThrow(new Error(message));
});

test("a token of gotify cannot add a header either", () => {
  expect(() => parseTarget("gotify://example.com/A%0d%0aX-Evil:1")).toThrow(
    new Error("its token has characters that no token has"),
  );
});
