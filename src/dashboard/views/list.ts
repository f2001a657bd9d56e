import { say } from "../language.ts";
import { later } from "../later.tsx";
import type { Entry } from "../parts/shell.tsx";
import { Devices } from "./devices.tsx";
import { Home } from "./home.tsx";

/**
 * The navigation: an entry leads to the first of its views, which has tabs for the others. A view that is not here does not
 * exist, and nothing may link to it.
 *
 * A view is a component in a file of its own, with a style sheet of the same name that `styles/all.css` imports. Its
 * first heading is an `h1`, its parts are `section`s of the class `card` with an `h2`. Colours and spaces are those of
 * `styles/tokens.css`.
 *
 * What is not needed for the first look at the home is in `others.ts`, too, and is loaded afterwards.
 *
 * It reads what it shows with `useAnswer` (see `answers.ts`), which also keeps it fresh; `loading` and `failed` need a
 * sentence of their own:
 *
 *     const devices = useAnswer("devices");
 *     if (devices.state !== "ready") return <Pending of={devices} />;
 *
 * An interface that is not in `Answers` (`store.ts`) is added there, and to `http/event.ts` if events change it. Rates
 * come from `useDeviceRate`, `useTunnelRate` and `useTraffic`, the gateway's time from `useNow` (`traffic.ts`).
 *
 * It changes something only by a `Button` (`parts/button.tsx`), which shows progress at once and the outcome in place.
 * What cannot simply be undone gets an `ask`, which says what will happen and to whom:
 *
 *     <Button
 *       doing={say("Removing…")}
 *       work={() => change("DELETE", pathOf("tunnels", name))}
 *       ask={{ title: say("Remove the tunnel {name}?", { name }), text: …, confirm: say("Remove") }}
 *     >
 *       {say("Remove")}
 *     </Button>
 *
 * A form is a `Form` (`parts/form.tsx`) of the schema that validates its request (`http/forms.ts`): a row says what a field is
 * called, the schema what it may be. A new field of a request is one more row.
 *
 * What was changed is not put into the store by hand: the gateway's event brings it, so the page shows what happened
 * and not what was clicked. Answers that no event announces are read again with `refresh`. Controls other than buttons
 * use `useAction` and `Outcome` in the same way; several controls that share an action show only the outcome of the
 * last one.
 */
export const ENTRIES: readonly [Entry, ...Entry[]] = [
  { title: say("Home"), icon: "home", views: [{ route: "", title: say("Home"), Content: Home }] },
  {
    title: say("Devices"),
    icon: "device",
    views: [{ route: "devices", title: say("Devices"), Content: Devices }],
  },
  {
    title: say("Servers"),
    icon: "server",
    views: [
      { route: "servers", title: say("Servers"), Content: later((views) => views.Servers) },
      { route: "tunnels", title: say("Tunnels"), Content: later((views) => views.Tunnels) },
    ],
  },
  {
    title: say("Rules"),
    icon: "destination",
    views: [
      { route: "destinations", title: say("Destinations"), Content: later((views) => views.Destinations) },
      { route: "schedules", title: say("Schedules"), Content: later((views) => views.Schedules) },
    ],
  },
  {
    title: say("Remote"),
    icon: "phone",
    views: [{ route: "remote", title: say("Remote"), Content: later((views) => views.Remote) }],
  },
  {
    title: say("System"),
    icon: "settings",
    views: [
      { route: "settings", title: say("Settings"), Content: later((views) => views.Settings) },
      { route: "account", title: say("Account"), Content: later((views) => views.Account) },
      { route: "checks", title: say("Checks"), Content: later((views) => views.Checks) },
      { route: "history", title: say("History"), Content: later((views) => views.History) },
      { route: "log", title: say("Log"), Content: later((views) => views.Log) },
    ],
  },
  // Only other views lead there.
  {
    title: say("Set up"),
    icon: "check",
    views: [{ route: "setup", title: say("Set up"), Content: later((views) => views.Setup) }],
    isHidden: true,
  },
];
