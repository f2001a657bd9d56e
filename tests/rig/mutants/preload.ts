// Loaded before the tests of a mutant: its file has the mutant's text, and the tree stays as it is.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { plugin } from "bun";

const [file, text] = [resolve(process.env.MUTANT_FILE ?? ""), process.env.MUTANT_TEXT ?? ""];
const exactly = new RegExp(`^${RegExp.escape(file)}$`);

plugin({
  name: "mutant",
  setup: (build) => {
    build.onLoad({ filter: exactly }, () => ({ contents: readFileSync(text, "utf8"), loader: "ts" }));
  },
});
