import type { EventMessage } from "../http/event.ts";
import { apply, endReads, refreshAll } from "./answers.ts";
import { mayRead } from "./login.ts";
import { outdateServed, serveAgain } from "./served.ts";
import { connection, isLost, needsToken } from "./store.ts";
import { keptToken, protocolsWith } from "./token.ts";
import { forgetRates, recordTraffic } from "./traffic.ts";

/**
 * The socket sends `traffic` every second. So long without a message, and the gateway counts as lost: a gateway
 * without power or without its cable closes no connection.
 */
const SILENCE_MS = 2_900;
/** A service that starts again answers soon; one that does not is asked less and less often. */
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 300;
const ANSWERS_WITHIN_MS = 2_000;

/** When the last message came, in milliseconds since 1970; or when the page was opened. */
let heard = Date.now();
let wasLive = false;
/** Since it was last heard. */
let attempts = 0;

/** Listens to the gateway's events for as long as the page is open. */
export function listen(): void {
  const socket = new WebSocket(
    `${location.origin.replace(/^http/, "ws")}/ws?traffic`,
    protocolsWith(keptToken()),
  );
  let isHeard = false;
  let isArriving = false;
  let watch = setTimeout(() => end(), SILENCE_MS);
  const end = () => {
    clearTimeout(watch);
    socket.onmessage = null;
    socket.onclose = null;
    socket.close();
    lose(isHeard);
  };
  socket.onclose = end;
  socket.onmessage = ({ data }: MessageEvent<string>) => {
    heard = Date.now();
    isHeard = true;
    attempts = 0;
    clearTimeout(watch);
    watch = setTimeout(end, SILENCE_MS);
    const event = JSON.parse(data) as EventMessage;
    if (event.type === "traffic") return recordTraffic(event.payload);
    apply(event);
    outdateServed(event.type === "status_change" ? event.payload.verdict.name : null);
    if (event.type !== "status_change" || isArriving) return;
    isArriving = true;
    void arrive(socket);
  };
}

/** What is shown counts as live once all of it was read after the loss. */
async function arrive(socket: WebSocket): Promise<void> {
  while (!(await refreshAll())) {
    await rest(MAX_RETRY_MS);
    if (socket.onmessage === null) return;
  }
  if (socket.onmessage === null) return;
  wasLive = true;
  connection.value = { name: "live" };
}

function lose(wasHeard: boolean): void {
  if (!isLost.value) connection.value = { name: "lost", since: heard };
  endReads();
  outdateServed(null);
  forgetRates();
  void comeBack(wasHeard);
}

/**
 * Waits until the gateway answers again, and listens again or, if its page is another one now, loads that. A browser
 * does not say why a socket could not be opened: for want of a token, the page asks for one.
 */
async function comeBack(mayListen: boolean): Promise<void> {
  for (;;) {
    // Not at once in a row: a gateway may answer, and end each socket.
    if (attempts > 0) await rest(Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** (attempts - 1)));
    attempts += 1;
    const html = await page();
    if (html === null) continue;
    if (!isThisPage(html)) location.reload();
    // The rest takes some more answers.
    serveAgain(html);
    const may = mayListen || (await mayRead());
    if (may === false) await unlocked();
    if (may !== null) return listen();
  }
}

/** Pages that have lost the gateway at the same moment do not ask for it together. */
function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms * (0.5 + Math.random() / 2)));
}

/** Asks for a token, and resolves when someone has logged in. */
function unlocked(): Promise<void> {
  // What is shown may not be read any more.
  if (wasLive) location.reload();
  connection.value = { name: "starting" };
  needsToken.value = true;
  const { promise, resolve } = Promise.withResolvers<void>();
  const unsubscribe = needsToken.subscribe((isNeeded) => isNeeded || resolve());
  return promise.finally(unsubscribe);
}

async function page(): Promise<string | null> {
  try {
    const response = await fetch("/", { cache: "no-store", signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) });
    return response.ok ? await response.text() : null;
  } catch {
    return null;
  }
}

/** Names of scripts and styles have a hash of their content, so another version has other names. */
function isThisPage(html: string): boolean {
  const own = document.querySelectorAll<HTMLElement>("script[src], link[rel=stylesheet]");
  return [...own].every((each) => html.includes(each.getAttribute("src") ?? each.getAttribute("href") ?? ""));
}
