// Prints why this machine permits no network namespaces; nothing if it does.
import { sandboxRefusal } from "../src/sandbox/permission.ts";
import { LinuxHost } from "../src/system/linux.ts";

console.log((await sandboxRefusal(new LinuxHost())) ?? "");
