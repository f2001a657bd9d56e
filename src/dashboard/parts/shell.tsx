import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { faultOf, knownOf, useAnswer } from "../answers.ts";
import type { Connection } from "../connection.ts";
import { timeOf } from "../format.ts";
import { useRoute } from "../route.ts";
import { sentenceOf } from "../sentence.ts";
import { useStore } from "../store.ts";
import { Drop } from "./drop.tsx";
import { Icon, type IconName } from "./icon.tsx";
import { Routes } from "./link.tsx";
import { LoginDialog, LoginPage, Logout } from "./login.tsx";
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
  const connection = useStore((state) => state.connection);
  const isLocked = useStore((state) => state.needsToken && state.connection.name === "starting");
  const main = useFocusAfterChange(view?.route);
  useEffect(() => {
    document.title = view === undefined ? "Portcullis" : `${view.title} · Portcullis`;
  }, [view]);
  if (isLocked) return <LoginPage />;
  return (
    <Routes.Provider value={views.map((each) => each.route)}>
      <div class="shell">
        <Navigation views={views} current={view} />
        <main ref={main} tabIndex={-1} class={connection.name === "lost" ? "old" : ""}>
          <Notice connection={connection} />
          {view !== undefined && <view.Content />}
          <Logout />
        </main>
        <Drop />
        <LoginDialog />
      </div>
    </Routes.Provider>
  );
}

function Navigation({ views, current }: { views: readonly View[]; current: View | undefined }) {
  return (
    <nav class="navigation" aria-label="Views">
      <p class="brand">
        <Icon name="gate" /> Portcullis
      </p>
      <StateWord />
      <ul>
        {views
          .filter((view) => !view.isHidden)
          .map((view) => (
            <li key={view.route}>
              <a href={`#/${view.route}`} aria-current={view === current ? "page" : undefined}>
                <Icon name={view.icon} /> {view.title}
              </a>
            </li>
          ))}
      </ul>
    </nav>
  );
}

/** The state in a word, on every view. */
function StateWord() {
  const connection = useStore((state) => state.connection);
  const status = knownOf(useAnswer("status"));
  const killswitch = useAnswer("killswitch");
  const { tone, word } = sentenceOf({
    connection,
    status,
    tunnels: null,
    devices: null,
    killswitch: knownOf(killswitch),
    unread: faultOf(killswitch),
    network: null,
  });
  return (
    <p class={`word tone-${tone}`}>
      <Icon name={TONE_ICONS[tone]} /> {word}
    </p>
  );
}

/** Nothing old is shown as if it were new. */
function Notice({ connection }: { connection: Connection }) {
  return (
    <div role="alert">
      {connection.name === "lost" && (
        <p class="notice">
          <Icon name="unknown" />
          <span>
            The gateway has not answered since {timeOf(connection.since)}. What you see below is what was
            known then. The page tries again every second.
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
