import { mkdtempSync, readdirSync } from "node:fs";
import { join } from "node:path";
import axe from "axe-core";
import puppeteer, {
  type Browser as Chromium,
  type ElementHandle,
  type KeyInput,
  type Page,
} from "puppeteer-core";
import { Relay } from "../../../src/sandbox/relay.ts";
import { freePort } from "../tools/lab.ts";
import { until } from "../tools/until.ts";

/** What the page is looked at with. */
export interface Look {
  width: 360 | 1400;
  scheme: "light" | "dark";
}

export const LOOKS: readonly Look[] = ([360, 1400] as const).flatMap((width) =>
  (["light", "dark"] as const).map((scheme) => ({ width, scheme })),
);
/** The suite takes each width and each scheme once: the scheme changes colours, and the width what stands where. */
const SUITE_LOOKS = LOOKS.filter(({ width, scheme }) => (width === 360) === (scheme === "dark"));

/** A phone's and a desk's. */
const HEIGHTS = { 360: 780, 1400: 900 };
/** A browser takes a second to start; a busy machine takes many times that. */
const ANSWERS_WITHIN_MS = 120_000;
/** Between two looks at the page, each of which has the browser arrange what has changed. */
const LOOK_MS = 60;
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/**
 * What a browser says of a request over the limit, as a test is quicker than a person, and of a socket that a busy machine
 * has not opened before the page has waited long enough for the gateway. The page asks again.
 */
const EXPECTED =
  /status of 429|closed before the connection is established|can’t establish a connection .*\/ws\?/;

/** A real browser, without a screen, on a computer of the sandbox. */
export class Browser {
  private constructor(
    private readonly chromium: Chromium,
    /** What ends Firefox; null for Chromium. */
    private readonly end: (() => Promise<void>) | null = null,
  ) {}

  static async start(namespace: string): Promise<Browser> {
    const program = ["netns", "exec", namespace, "chromium-headless-shell"];
    const flags = await puppeteer.defaultArgs({ headless: "shell", args: ["--no-sandbox"] });
    const chromium = await puppeteer.launch({
      executablePath: Bun.which("ip") ?? "ip",
      args: [...program, ...flags],
      ignoreDefaultArgs: true,
      // A port could not be reached from outside the namespace.
      pipe: true,
      // The gateway's own is self-signed. A browser's user accepts it once.
      acceptInsecureCerts: true,
      // It ends with the pipe; puppeteer would end this program before the sandbox is removed.
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      timeout: ANSWERS_WITHIN_MS,
      protocolTimeout: ANSWERS_WITHIN_MS,
    });
    return new Browser(chromium);
  }

  /** Firefox, which speaks WebDriver BiDi at a port of its namespace's loopback. Its files are below `folder`. */
  static async firefox(namespace: string, folder: string): Promise<Browser> {
    const profile = mkdtempSync(join(folder, "firefox-"));
    const port = freePort();
    const flags = ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", `${port}`];
    const child = Bun.spawn(["ip", "netns", "exec", namespace, "firefox-esr", ...flags], {
      env: { PATH: process.env.PATH ?? "", HOME: profile, LANG: "C.UTF-8", TZ: "UTC" },
      stdin: "ignore",
      stdout: "ignore",
      stderr: Bun.file(join(profile, "log")),
    });
    const relay = Relay.start(namespace, port);
    const end = async () => {
      child.kill("SIGKILL");
      await child.exited;
      relay.stop();
    };
    try {
      const log = Bun.file(join(profile, "log"));
      await until(async () => (await log.text()).includes("WebDriver BiDi listening"), ANSWERS_WITHIN_MS);
      const firefox = await puppeteer.connect({
        browserWSEndpoint: `ws://127.0.0.1:${port}/session`,
        protocol: "webDriverBiDi",
        acceptInsecureCerts: true,
        protocolTimeout: ANSWERS_WITHIN_MS,
      });
      return new Browser(firefox, end);
    } catch (error) {
      await end();
      throw error;
    }
  }

  /**
   * Opens the page as another person would: with a cache and a storage of its own. `before` is a script that runs before
   * the page's.
   */
  async open(url: string, look: Look = { width: 1400, scheme: "light" }, before = ""): Promise<Tab> {
    const context = await this.chromium.createBrowserContext();
    const tab = await Tab.of(await context.newPage(), this.end === null);
    await tab.wear(look);
    await tab.page.evaluateOnNewDocument(before);
    await tab.page.goto(url);
    return tab;
  }

  /** Closes all that was opened. */
  async closeTabs(): Promise<void> {
    const own = this.chromium
      .browserContexts()
      .filter((each) => each !== this.chromium.defaultBrowserContext());
    await Promise.all(own.map((each) => each.close()));
  }

  async close(): Promise<void> {
    await this.chromium.close();
    await this.end?.();
  }
}

/** As in a browser with these languages. It is to run before the page's scripts. */
export const wishing = (...languages: string[]) =>
  `Object.defineProperty(navigator, "languages", { get: () => ${JSON.stringify(languages)} })`;

/** Counts clicks, also those on a page that was left. It is to run before the page's scripts. */
export const COUNTS_CLICKS = `addEventListener("click", ({ isTrusted }) => {
  if (isTrusted) sessionStorage.setItem("clicks", Number(sessionStorage.getItem("clicks")) + 1);
}, true)`;

/** A page in a browser. Expressions run in the page, and are texts, because its types are not those of a test. */
export class Tab {
  /** What it has asked for, WebSockets included. */
  readonly urls: string[] = [];
  /** Errors and warnings of the console, violations of its security policy included. */
  readonly complaints: string[] = [];

  private constructor(
    readonly page: Page,
    private readonly isChromium: boolean,
  ) {}

  static async of(page: Page, isChromium = true): Promise<Tab> {
    const tab = new Tab(page, isChromium);
    page.setDefaultTimeout(ANSWERS_WITHIN_MS);
    page.on("request", (request) => void tab.urls.push(request.url()));
    const complain = (text: string) => EXPECTED.test(text) || tab.complaints.push(text);
    page.on("console", (message) => {
      if (["error", "warn"].includes(message.type())) complain(message.text());
    });
    page.on("pageerror", (error) => void complain(String(error)));
    if (!isChromium) return tab;
    const session = await page.createCDPSession();
    session.on("Network.webSocketCreated", ({ url }) => void tab.urls.push(url));
    await session.send("Network.enable");
    await session.send("Emulation.setLocaleOverride", { locale: "en-GB" });
    await session.send("Emulation.setTimezoneOverride", { timezoneId: "UTC" });
    return tab;
  }

  async wear({ width, scheme }: Look): Promise<void> {
    await this.page.setViewport({ width, height: HEIGHTS[width] });
    // Firefox's way to this is not one of BiDi's.
    if (this.isChromium)
      await this.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  }

  /** How often the mouse or a key has clicked something, if the page was opened with `COUNTS_CLICKS`. */
  async clicks(): Promise<number> {
    return Number(await this.page.evaluate(`sessionStorage.getItem("clicks")`));
  }

  /** The visible text of the first element that matches; null if there is none. */
  async text(selector: string): Promise<string | null> {
    const found = `document.querySelector(${JSON.stringify(selector)})?.innerText ?? null`;
    const text = (await this.page.evaluate(found)) as string | null;
    return text === null ? null : text.replace(/\s+/g, " ").trim();
  }

  /** Waits until the first element that matches has a text; returns how long it took, in milliseconds. */
  async shows(selector: string, text: string | RegExp, ms?: number): Promise<number> {
    let found: string | null = null;
    const fits = async () => {
      // A page that is being loaded cannot be asked.
      found = await this.text(selector).catch(() => null);
      return found !== null && (typeof text === "string" ? found.includes(text) : text.test(found));
    };
    return await until(fits, ms, LOOK_MS).catch(() => {
      throw new Error(`${selector} does not show ${text}, but: ${found}`);
    });
  }

  /** Waits until nothing matches any more. */
  async loses(selector: string): Promise<void> {
    const isGone = async () => (await this.text(selector).catch(() => "")) === null;
    await until(isGone, undefined, LOOK_MS).catch(() => {
      throw new Error(`${selector} is still there`);
    });
  }

  /** Waits until what has the focus is called so: by its name in a form, its text or a label. */
  async focuses(name: string): Promise<void> {
    let found: unknown[] = [];
    const isFocused = async () => {
      found = (await this.page.evaluate(FOCUSED)) as unknown[];
      return found.includes(name);
    };
    await until(isFocused, undefined, LOOK_MS).catch(() => {
      throw new Error(`${name} does not have the focus, but: ${JSON.stringify(found)}`);
    });
  }

  /** Presses a key as soon as the page takes it: while the gateway is lost, buttons and forms do nothing. */
  async press(key: KeyInput): Promise<void> {
    await this.page.bringToFront();
    await this.loses(".notice");
    await this.page.keyboard.press(key);
  }

  /** Replaces what is in the field with this label, in the dialog if one is open. */
  async type(label: string, text: string): Promise<void> {
    const field = await this.control(label);
    await field.focus();
    await this.page.keyboard.down("Control");
    await this.page.keyboard.press("a");
    await this.page.keyboard.up("Control");
    await this.page.keyboard.press("Backspace");
    await field.type(text);
  }

  /** Sets the field with this label: each browser has keys of its own for a time of day. */
  async set(label: string, value: string): Promise<void> {
    const field = await this.control(label);
    await field.evaluate(setValue, value);
  }

  /** Chooses the option with this text in the choice with this label, as soon as both are there and can be used. */
  async choose(label: string, option: string): Promise<void> {
    const isChosen = async () => await (await this.control(label)).evaluate(chooseOption, option);
    await until(isChosen, undefined, LOOK_MS).catch(() => {
      throw new Error(`${label} does not offer ${option}`);
    });
  }

  /** The text of the option that the choice with this label has. Its `text` has all that it offers. */
  async chosen(label: string): Promise<string> {
    return (await (await this.control(label)).evaluate(chosenOption)) ?? "";
  }

  /** Waits until the choice with this label has the option with this text. */
  async showsChosen(label: string, option: string): Promise<void> {
    let found = "";
    const isChosen = async () => {
      found = await this.chosen(label);
      return found === option;
    };
    await until(isChosen, undefined, LOOK_MS).catch(() => {
      throw new Error(`${label} is not ${option}, but: ${found}`);
    });
  }

  /** Leads the focus to the button with this text or label, as Tab does in the end. */
  async focus(name: string): Promise<void> {
    await until(async () => (await this.target(name)) !== null, undefined, LOOK_MS);
    await (await this.target(name))?.focus();
  }

  /** The field or choice with this label, once there is one. */
  private async control(label: string): Promise<ElementHandle> {
    let found: ElementHandle | null = null;
    const look = `(() => {
      const scope = document.querySelector("dialog[open]") ?? document;
      const isIt = (each) => each.ariaLabel === ${JSON.stringify(label)} || each.labels[0]?.innerText.trim() === ${JSON.stringify(label)};
      return [...scope.querySelectorAll("input, select")].find(isIt) ?? null;
    })()`;
    const isThere = async () => {
      found = (await this.page.evaluateHandle(look)).asElement() as ElementHandle | null;
      return found !== null;
    };
    await until(isThere, undefined, LOOK_MS).catch(() => {});
    if (found === null) throw new Error(`no field is called ${label}`);
    return found;
  }

  /**
   * Clicks the button or link with this text or label, in the dialog if one is open. It waits until there is one, and
   * clicks again if the page moved it away from under the mouse, or if it did nothing then, as while the gateway is lost.
   */
  async click(name: string): Promise<void> {
    // A click on a page behind another one does nothing.
    await this.page.bringToFront();
    const hits = async () => {
      const target = await this.target(name);
      if (target === null) return false;
      const clicks = await this.clicks();
      await target.evaluate(watchClick);
      await target.click();
      // A page that the click has left, or leaves just now, knows nothing of it.
      const isHit = (await this.page.evaluate("globalThis.clicked").catch(() => undefined)) !== false;
      // A click beside what has just moved is no step of the task.
      if (!isHit) await this.page.evaluate(`sessionStorage.setItem("clicks", ${clicks})`);
      return isHit;
    };
    let reason = "";
    await until(
      () =>
        hits().catch((error) => {
          reason = String(error);
          return false;
        }),
      undefined,
      LOOK_MS,
    ).catch(async () => {
      const shown = await this.text("body").catch(String);
      throw new Error(`nothing to click is called ${name} ${reason} in: ${shown}`);
    });
  }

  private async target(name: string): Promise<ElementHandle | null> {
    const look = `(() => {
      const scope = document.querySelector("dialog[open]") ?? document;
      // In the picture of the home, a sentence for screen readers follows.
      const title = (each) => (each.matches(".row-label") ? each.querySelector("strong") : each).innerText.trim();
      const isIt = (each) => title(each) === ${JSON.stringify(name)} || each.ariaLabel === ${JSON.stringify(name)};
      return [...scope.querySelectorAll("button, a")].find(isIt) ?? null;
    })()`;
    return (await this.page.evaluateHandle(look)).asElement() as ElementHandle | null;
  }

  /** The file that the browser saves when something is clicked; in a folder of its own inside this one. */
  async save(name: string, folder: string): Promise<{ name: string; text: string }> {
    const downloads = mkdtempSync(join(folder, "downloads-"));
    const session = await this.page.createCDPSession();
    await session.send("Page.setDownloadBehavior", { behavior: "allow", downloadPath: downloads });
    await this.click(name);
    let file = "";
    await until(async () => {
      file = readdirSync(downloads).find((each) => !each.endsWith(".crdownload")) ?? "";
      return file !== "";
    });
    return { name: file, text: await Bun.file(join(downloads, file)).text() };
  }

  /** Drops files onto the page, by their names. */
  async drop(files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
    const packed = Object.entries(files).map(([name, data]) => [name, Buffer.from(data).toString("base64")]);
    await this.page.evaluate(`(() => {
      const dataTransfer = new DataTransfer();
      for (const [name, data] of ${JSON.stringify(packed)})
        dataTransfer.items.add(new File([Uint8Array.fromBase64(data)], name));
      const target = document.querySelector("dialog[open]") ?? document.body;
      for (const type of ["dragover", "drop"])
        target.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
    })()`);
  }

  /** Elements that reach beyond the right edge of the window, or make it scroll sideways. */
  async wide(): Promise<string[]> {
    return (await this.page.evaluate(TOO_WIDE)) as string[];
  }

  /** The same at several widths of the window, with the usual letters and with letters of twice the size. */
  async misfits(widths: readonly number[]): Promise<string[]> {
    const found: string[] = [];
    for (const percent of [100, 200]) {
      await this.page.evaluate(`document.documentElement.style.fontSize = "${percent}%"`);
      for (const width of widths) {
        await this.page.setViewport({ width, height: HEIGHTS[360] });
        found.push(...(await this.wide()).map((line) => `${width} at ${percent} %: ${line}`));
      }
    }
    return found;
  }

  /** A clock of what the page costs the processor, in milliseconds; time that passes depends on other programs too. */
  async processorClock(): Promise<() => Promise<number>> {
    const session = await this.page.createCDPSession();
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    return async () => {
      const { metrics } = await session.send("Performance.getMetrics");
      return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0) * 1_000;
    };
  }

  /** What axe-core finds at WCAG 2.2 AA, and what makes the page scroll sideways, in each look; nothing if all is well. */
  async barriers(
    looks = process.env.PORTCULLIS_TEST_LONG === "without" ? SUITE_LOOKS : LOOKS,
  ): Promise<string[]> {
    const found: string[] = [];
    if (!(await this.page.evaluate("'axe' in globalThis"))) await this.page.evaluate(axe.source);
    for (const look of looks) {
      await this.wear(look);
      // axe-core takes what can be scrolled from behind a sticky bar for covered; of a fixed one it knows better.
      await this.page.evaluate(barIs("static"));
      const run = `axe.run(document, { runOnly: { type: "tag", values: ${JSON.stringify(RULES)} } })`;
      const { violations } = (await this.page.evaluate(run)) as axe.AxeResults;
      const lines = violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
      await this.page.evaluate(barIs(""));
      found.push(
        ...[...lines, ...(await this.wide())].map((line) => `${look.width} ${look.scheme}: ${line}`),
      );
    }
    return found;
  }
}

const barIs = (position: string) =>
  `for (const bar of document.querySelectorAll(".navigation ul, .chosen-bar")) bar.style.position = "${position}"`;

/** Elements that reach beyond the right edge of the page. */
const TOO_WIDE = `(() => {
  const { clientWidth, scrollWidth } = document.documentElement;
  const isWide = (each) => each.getBoundingClientRect().right > clientWidth + 1;
  if (scrollWidth <= clientWidth) return [];
  return [...document.querySelectorAll("body *")].filter(isWide).map((each) => "too wide: " + each.outerHTML.slice(0, 100));
})()`;

/** What the element with the focus may be called. */
const FOCUSED = `(({ name, innerText, ariaLabel, labels }) => [name, innerText?.trim(), ariaLabel, labels?.[0]?.innerText.trim()])(document.activeElement)`;

/**
 * Chooses an option as a person does, who can neither use a choice while the gateway is lost, nor one that has left the
 * page. It runs in the page, and returns whether it has.
 */
function chooseOption(choice: unknown, text: string): boolean {
  const select = choice as EventTarget & {
    options: Iterable<{ text: string; value: string }>;
    value: string;
    disabled: boolean;
    isConnected: boolean;
  };
  const found = [...select.options].find((each) => each.text === text);
  if (found === undefined || select.disabled || !select.isConnected) return false;
  select.value = found.value;
  for (const type of ["input", "change"]) select.dispatchEvent(new Event(type, { bubbles: true }));
  return true;
}

/** It runs in the page. */
function chosenOption(choice: unknown): string | undefined {
  return (choice as { selectedOptions: ArrayLike<{ text: string }> }).selectedOptions[0]?.text;
}

/** As someone who has entered it; it runs in the page. */
function setValue(field: unknown, value: string): void {
  const input = field as { value: string } & EventTarget;
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Notes whether the next click reaches the element while it can be used; it runs in the page. */
function watchClick(element: unknown): void {
  const page = globalThis as { clicked?: boolean };
  page.clicked = false;
  const target = element as EventTarget & { ariaDisabled: string | null };
  const note = () => {
    page.clicked = target.ariaDisabled !== "true";
  };
  target.addEventListener("click", note, { once: true, capture: true });
}
