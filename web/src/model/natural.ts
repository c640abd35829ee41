const words = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Compares names as people count: lane2 comes before lane10. Names that differ only in case have a fixed order. */
export function natural(a: string, b: string): number {
  return words.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}
