import { Button } from "react-aria-components/Button";
import { ComboBox } from "react-aria-components/ComboBox";
import { Input } from "react-aria-components/Input";
import { ListBox, ListBoxItem } from "react-aria-components/ListBox";
import { Popover } from "react-aria-components/Popover";
import { zoneName } from "../model/time";
import { useQuery } from "../route/route";
import { useZone } from "./clock";
import { rememberZone } from "./zone";

const known = Intl.supportedValuesOf("timeZone");

/** The zones to choose from. Browsers know more names than they list, so the current one is always among them. */
export function zones(current: string): { id: string; name: string }[] {
  const own = zoneName("local");
  const all = ["UTC", ...known.filter((z) => z !== "UTC")];
  if (current !== "local" && !all.includes(current)) all.unshift(current);
  return [{ id: "local", name: `Local (${own})` }, ...all.map((z) => ({ id: z, name: z }))];
}

export function ZoneChoice() {
  const zone = useZone();
  const [, change] = useQuery();
  const choose = (key: React.Key | null) => {
    if (key === null || key === zone) return;
    rememberZone(String(key));
    change({ zone: key === "local" ? undefined : String(key) }, "typing");
  };
  return (
    <ComboBox aria-label="Time zone" className="zone" key={zone} defaultItems={zones(zone)} defaultSelectedKey={zone} onSelectionChange={choose} menuTrigger="focus">
      <Input title={`Times are shown in ${zoneName(zone)}`} onFocus={(e) => e.currentTarget.select()} />
      <Button className="icon" aria-label="Choose a time zone">▾</Button>
      <Popover className="popover"><ListBox className="options">{(z: { id: string; name: string }) => <ListBoxItem id={z.id} textValue={z.name} className="option">{z.name}</ListBoxItem>}</ListBox></Popover>
    </ComboBox>
  );
}
