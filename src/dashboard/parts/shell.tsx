import type { ComponentType } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { useReader } from "../access.ts";
import { timeOf } from "../format.ts";
import { useKnown } from "../known.ts";
import { say } from "../language.ts";
import { useRoute } from "../route.ts";
import { sentenceOf } from "../sentence.ts";
import { connection, isLost, needsToken } from "../store.ts";
import { Drop } from "./drop.tsx";
import { Guard } from "./guard.tsx";
import { Icon, type IconName } from "./icon.tsx";
import { Routes } from "./link.tsx";
import { LoginDialog, LoginPage, Logout } from "./login.tsx";
import { useKeptPlace } from "./scroll.ts";
import { TONE_ICONS } from "./tone.ts";

interface View {
  /** Its address after `#/`. */
  route: string;
  /** The title of the page. */
  title: string;
  Content: ComponentType;
}

/** What the navigation leads to. */
export interface Entry {
  title: string;
  icon: IconName;
  /** The first is the one that it leads to. */
  views: readonly [View, ...View[]];
  /** Not in the navigation; views link to it. */
  isHidden?: true;
}

/** What surrounds every view: the navigation, the state in a word, and the notice that the gateway is lost. */
export function Shell({ entries }: { entries: readonly [Entry, ...Entry[]] }) {
  const route = useRoute();
  const found = entries.find(({ views }) => views.some((each) => each.route === route));
  const entry = found ?? entries[0];
  const view = entry.views.find((each) => each.route === route) ?? entry.views[0];
  const isLocked = needsToken.value && connection.value.name === "starting";
  const isReader = useReader() !== null;
  const main = useFocusAfterChange(view.route);
  useKeptPlace();
  useEffect(() => {
    document.title = `${view.title} · Portcullis`;
  }, [view]);
  if (isLocked) return <LoginPage />;
  return (
    <Routes.Provider value={entries.flatMap(({ views }) => views.map((each) => each.route))}>
      <div class="shell">
        <div class="layout">
          <Navigation entries={entries} current={entry} route={view.route} />
          <main ref={main} tabIndex={-1} class={isLost.value ? "old" : ""}>
            <Notice isHome={view.route === ""} />
            {isReader && <Logout />}
            {entry.views.length > 1 && <Tabs of={entry} route={view.route} />}
            <Guard key={view.route}>
              <view.Content />
            </Guard>
            {!isReader && <Logout />}
          </main>
        </div>
      </div>
      <Drop />
      <LoginDialog />
    </Routes.Provider>
  );
}

interface NavigationProps {
  entries: readonly Entry[];
  current: Entry;
  route: string;
}

function Navigation({ entries, current, route }: NavigationProps) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [route]);
  return (
    <nav class={`navigation ${route === "" ? "at-home" : ""}`} aria-label={say("Views")}>
      <p class="brand">
        <Icon name="gate" /> Portcullis
      </p>
      <Guard>
        <StateWord />
      </Guard>
      <ul id={id} class={isOpen ? "" : "closed"}>
        {entries
          .filter(({ isHidden }) => !isHidden)
          .map((entry) => (
            <li key={entry.title}>
              <a href={`#/${entry.views[0].route}`} aria-current={currentOf(entry, current, route)}>
                <Icon name={entry.icon} /> {entry.title}
              </a>
            </li>
          ))}
        <li class="menu">
          <button type="button" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
            <Icon name={isOpen ? "close" : "more"} /> {isOpen ? say("Less") : say("More")}
          </button>
        </li>
      </ul>
    </nav>
  );
}

function currentOf(entry: Entry, current: Entry, route: string): "page" | "true" | undefined {
  if (entry !== current) return undefined;
  return entry.views[0].route === route ? "page" : "true";
}

/** The views of one entry. */
function Tabs({ of: { title, views }, route }: { of: Entry; route: string }) {
  return (
    <nav class="tabs" aria-label={title}>
      <ul>
        {views.map((view) => (
          <li key={view.route}>
            <a href={`#/${view.route}`} aria-current={view.route === route ? "page" : undefined}>
              {view.title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** The state in a word, on every view. */
function StateWord() {
  const { tone, title, short = title } = sentenceOf(useKnown());
  return (
    <p class={`word tone-${tone}`}>
      <Icon name={TONE_ICONS[tone]} /> {short}
    </p>
  );
}

/** Nothing old is shown as if it were new. Home says by itself since when. */
function Notice({ isHome }: { isHome: boolean }) {
  const state = connection.value;
  return (
    <div role="alert">
      {state.name === "lost" && (
        <p class="notice">
          <Icon name="unknown" />
          <span>
            {!isHome &&
              `${say("The gateway has not answered since {time}.", { time: timeOf(state.since) })} `}
            {say("What you see below is what was known then. The page tries again every second.")}
          </span>
        </p>
      )}
    </div>
  );
}

/** After a change of the view, a keyboard or a screen reader goes on at its beginning. */
function useFocusAfterChange(route: string) {
  const main = useRef<HTMLElement>(null);
  const before = useRef(route);
  useEffect(() => {
    if (before.current !== route) main.current?.focus();
    before.current = route;
  }, [route]);
  return main;
}
