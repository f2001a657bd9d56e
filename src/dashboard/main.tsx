import { render } from "preact";
import { loadSentences, shown } from "./language.ts";
import { loadViews } from "./later.tsx";
import { listen } from "./live.ts";
import { Shell } from "./parts/shell.tsx";
import { ENTRIES } from "./views/list.ts";

const LATER_MS = 1_500;

document.documentElement.lang = shown;
// The browser opens the socket while the page is drawn.
listen();
const page = document.getElementById("page");
if (page !== null) {
  // What it says while it is being loaded, and if its script is gone.
  page.replaceChildren();
  render(<Shell entries={ENTRIES} />, page);
}
void loadSentences();
// After the first answers, which it would hold up. What was not had now is asked for again when a view is opened, where the browser does.
setTimeout(() => loadViews().catch(() => {}), LATER_MS);
