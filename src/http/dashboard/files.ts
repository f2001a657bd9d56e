import { bundle } from "./bundle.ts" with { type: "macro" };

/** The files of the page by name, compressed by gzip and in base64. */
export const FILES: Record<string, string> = bundle();
