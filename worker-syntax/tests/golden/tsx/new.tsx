type Props = { title: string; hint?: string };

export function Card({ title, hint }: Props) {
  return <div className="card" title={hint}>{title}</div>;
}

export const List = (props: { items: string[] }) => (
  <ol>
    {props.items.map((item) => <li key={item}>{item}</li>)}
  </ol>
);
