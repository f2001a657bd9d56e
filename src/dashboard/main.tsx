import { render } from "preact";
import { listen } from "./live.ts";
import { Shell } from "./parts/shell.tsx";
import { VIEWS } from "./views/list.ts";

const page = document.getElementById("page");
if (page !== null) render(<Shell views={VIEWS} />, page);
listen();
