// Writes to the folder that is named what makes a flashed image a gateway from its first start on.
import { version } from "../package.json";
import { imagePlan } from "../src/install/image.ts";
import { carryOut } from "../src/install/run.ts";
import { LinuxHost } from "../src/system/linux.ts";

const [folder = "."] = process.argv.slice(2);
await carryOut(imagePlan(version), { host: new LinuxHost(), root: folder, say: () => {} });
