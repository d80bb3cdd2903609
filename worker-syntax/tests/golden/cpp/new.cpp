namespace shop {

template <typename T, typename A>
class Cart : public Base {
public:
    void add(T&& item) { items_.push_back(std::move(item)); }
    int total() const;
private:
    std::vector<T, A> items_;
};

int Cart<int>::total() const {
    return sum(items_) + shipping();
}

}  // namespace shop
