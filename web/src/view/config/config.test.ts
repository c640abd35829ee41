import { expect, test } from "vitest";
import { sorted } from "./config";

test("refused and missing files come first, then those with warnings", () => {
  const problem = { line: 1, column: 1, path: "", message: "", severity: "warning" as const };
  const files = [
    { file: "a", state: "in force" as const, problems: [] }, { file: "b", state: "in force" as const, problems: [problem] }, { file: "c", state: "refused" as const, problems: [problem] },
    { file: "d", state: "missing" as const, problems: [problem] },
  ];
  expect(sorted(files).map((f) => f.file)).toEqual(["c", "d", "b", "a"]);
});
