// An import with `type: "file"` gives the path of the file; in the compiled binary the file is embedded.
declare module "*/makers.txt" {
  const path: string;
  export default path;
}
