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

export interface View {
  /** Its address after `#/`. */
  route: string;
  /** In the navigation, and the title of the page. */
  title: string;
  icon: IconName;
  Content: ComponentType;
  /** Not in the navigation; other views link to it. */
  isHidden?: true;
}

/** What surrounds every view: the navigation, the state in a word, and the notice that the gateway is lost. */
export function Shell({ views }: { views: readonly View[] }) {
  const route = useRoute();
  const view = views.find((each) => each.route === route) ?? views[0];
  const isLocked = needsToken.value && connection.value.name === "starting";
  const isReader = useReader() !== null;
  const main = useFocusAfterChange(view?.route);
  useKeptPlace();
  useEffect(() => {
    document.title = view === undefined ? "Portcullis" : `${view.title} · Portcullis`;
  }, [view]);
  if (isLocked) return <LoginPage />;
  return (
    <Routes.Provider value={views.map((each) => each.route)}>
      <div class="shell">
        <div class="layout">
          <Navigation views={views} current={view} />
          <main ref={main} tabIndex={-1} class={isLost.value ? "old" : ""}>
            <Notice isHome={view?.route === ""} />
            {isReader && <Logout />}
            {view !== undefined && (
              <Guard key={view.route}>
                <view.Content />
              </Guard>
            )}
            {!isReader && <Logout />}
          </main>
        </div>
      </div>
      <Drop />
      <LoginDialog />
    </Routes.Provider>
  );
}

/** What a phone shows at once; with large letters only the first of them. */
const AT_HAND = 4;

function Navigation({ views, current }: { views: readonly View[]; current: View | undefined }) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [current]);
  const shown = views.filter((view) => !view.isHidden);
  const linkTo = (view: View, place: string) => (
    <li key={view.route} class={place}>
      <a href={`#/${view.route}`} aria-current={view === current ? "page" : undefined}>
        <Icon name={view.icon} /> {view.title}
      </a>
    </li>
  );
  const [first, ...middle] = shown.slice(0, AT_HAND);
  const further = shown.slice(AT_HAND);
  return (
    <nav class={`navigation ${current === first ? "at-home" : ""}`} aria-label={say("Views")}>
      <p class="brand">
        <Icon name="gate" /> Portcullis
      </p>
      <Guard>
        <StateWord />
      </Guard>
      <ul id={id} class={isOpen ? "" : "closed"}>
        {first !== undefined && linkTo(first, "")}
        {middle.map((view) => linkTo(view, "middle"))}
        <li class="menu">
          <button
            type="button"
            class={current !== undefined && further.includes(current) ? "current" : ""}
            aria-expanded={isOpen}
            aria-controls={id}
            onClick={() => setOpen(!isOpen)}
          >
            <Icon name={isOpen ? "close" : "more"} /> {isOpen ? say("Less") : say("More")}
          </button>
        </li>
        {further.map((view) => linkTo(view, "further"))}
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
function useFocusAfterChange(route: string | undefined) {
  const main = useRef<HTMLElement>(null);
  const before = useRef(route);
  useEffect(() => {
    if (before.current !== route) main.current?.focus();
    before.current = route;
  }, [route]);
  return main;
}
