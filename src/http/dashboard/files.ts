import { bundle } from "../../../scripts/page.ts" with { type: "macro" };

/** The files of the page by name, compressed by gzip and in base64. */
export const FILES: Record<string, string> = bundle();
