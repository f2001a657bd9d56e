// Writes the Debian package's units to the folder that is named.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { unitsFor } from "../src/install/units.ts";
import { PACKAGED } from "../src/system/layout.ts";

const [folder = "."] = process.argv.slice(2);
for (const [name, text] of Object.entries(unitsFor(PACKAGED.program)))
  writeFileSync(join(folder, name), text);
