import { render } from "preact";
import { loadSentences, shown } from "./language.ts";
import { listen } from "./live.ts";
import { Shell } from "./parts/shell.tsx";
import { loadViews } from "./views/later.tsx";
import { ENTRIES } from "./views/list.ts";

document.documentElement.lang = shown;
const page = document.getElementById("page");
if (page !== null) {
  // What it says while it is being loaded, and if its script is gone.
  page.replaceChildren();
  render(<Shell entries={ENTRIES} />, page);
}
listen();
void loadSentences();
// What was not had now is asked for again when one of them is opened.
addEventListener("load", () => loadViews().catch(() => {}));
