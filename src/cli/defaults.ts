/** Where the gateway answers unless --url or PORTCULLIS_URL names another address. */
export const DEFAULT_URL = "http://127.0.0.1:5000";

/** In place of a file name: a line of standard input or, at a terminal, an answer that is not echoed. */
export const STANDARD_INPUT = "-";
