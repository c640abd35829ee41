import { useState } from "react";
import { ComboBox } from "react-aria-components/ComboBox";
import { Input } from "react-aria-components/Input";
import { ListBox, ListBoxItem } from "react-aria-components/ListBox";
import { Popover } from "react-aria-components/Popover";
import { ranked, score } from "../model/rank";

interface Item {
  id: string;
  hint: string;
}

/** A text field that suggests values, the best match first. Any text may be entered; an empty one removes the filter. */
export function Suggest({ label, placeholder, value, items, change }: { label: string; placeholder: string; value: string; items: readonly Item[]; change: (v: string) => void }) {
  const [text, setText] = useState(value);
  const [shown, setShown] = useState(value);
  if (shown !== value) {
    setShown(value);
    setText(value);
  }
  const commit = (v: string) => v.trim() !== value && change(v.trim());
  return (
    <ComboBox
      aria-label={label} allowsCustomValue inputValue={text} onInputChange={setText} items={ranked(items, text, (i) => score(i.id, text)).slice(0, 50)}
      onSelectionChange={(key) => key !== null && commit(String(key))} onBlur={() => commit(text)} className="suggest"
      onKeyDown={(e) => e.key === "Enter" && commit(text)}
    >
      <Input placeholder={placeholder} />
      <Popover className="popover">
        <ListBox className="options">{(i: Item) => <ListBoxItem id={i.id} textValue={i.id} className="option"><span>{i.id}</span> <small>{i.hint}</small></ListBoxItem>}</ListBox>
      </Popover>
    </ComboBox>
  );
}
