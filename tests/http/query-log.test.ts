import { expect, setDefaultTimeout } from "bun:test";
import type { Mac } from "../../src/base/mac.ts";
import { type Question, questionIn } from "../../src/dns/question.ts";
import { followMessages } from "../../src/http/messages.ts";
import { query } from "../dns/messages.ts";
import { slow } from "../fast.ts";
import { bearing, SecureHome, TIMEOUT_MS } from "./secure-home.ts";

const { test } = slow;

setDefaultTimeout(TIMEOUT_MS);

const PATH = "/api/dns/log";
const TV = "02:00:00:00:00:20" as Mac;
const SECRET = "very-private.example";

test("what the log of queries has is told there alone: no event, metric or status has a name of it", async () => {
  const secure = await SecureHome.start("write");
  const { home } = secure;
  try {
    const full = bearing((await home.parts.tokens.add("full", false)).token);
    const events: string[] = [];
    followMessages(home.parts.events, (event) => void events.push(JSON.stringify(event)));
    expect((await secure.send("GET", PATH, undefined, full)).json).toEqual({
      ...{ until: null, queries: [], dropped: 0 },
    });
    expect((await secure.send("POST", PATH, undefined, full)).status).toBe(200);
    home.parts.queryLog.note(questionIn(query(SECRET)) as Question, {
      device: TV,
      exit: null,
      answer: "local",
    });
    expect((await secure.send("GET", PATH, undefined, full)).json.queries).toMatchObject([
      { device: TV, name: SECRET, type: "A", exit: null, answer: "local" },
    ]);
    // Everybody can see that there is one, and until when.
    expect((await home.send("GET", "/api/dns")).json.logged_until).toEndWith("Z");
    for (const path of ["/api/dns", "/metrics", "/api/events", "/api/status"])
      expect((await home.send("GET", path)).text).not.toContain(SECRET);
    expect((await secure.send("DELETE", PATH, undefined, full)).status).toBe(200);
    expect((await home.send("GET", "/api/dns")).json.logged_until).toBeNull();
    expect(events.filter((event) => event.includes("dns_update")).length).toBe(2);
    expect(events.join()).not.toContain(SECRET);
  } finally {
    await secure.stop();
  }
});
